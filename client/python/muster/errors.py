"""The errors of the client. Every message is a whole sentence for people; `reason` is for
programs."""


class MusterError(Exception):
    """The base of all errors of this package."""


class Mistaken(MusterError, ValueError):
    """The call is invalid: an unknown type or field, or a value that does not fit. Nothing was
    sent."""


class Refused(MusterError):
    """The server or the world refused a request. The session goes on.

    `code` is the name of a FaultCode, such as "refused" or "no_right", and `reason` is a short word
    such as "name_taken". `fault` is the whole message of the server. `value` is the current value
    of the field if it is why a conditional edit was refused, and otherwise None."""

    def __init__(self, text, code="refused", reason="", fault=None, value=None):
        super().__init__(text)
        self.code, self.reason, self.fault, self.value = code, reason, fault, value


class Lost(MusterError, ConnectionError):
    """There is no connection, or it has ended. `code` and `reason` are the server's, if it gave
    any."""

    def __init__(self, text, code="", reason=""):
        super().__init__(text)
        self.code, self.reason = code, reason


class ProtocolError(Lost):
    """The other side sent bytes that do not follow the protocol. The connection has been closed."""


class Late(MusterError, TimeoutError):
    """No answer came in time. The request may have been carried out."""
