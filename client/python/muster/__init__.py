"""A client of Muster: edits, watches and tests worlds that a server serves. docs/client-python.md
explains it."""
from .errors import Late, Lost, Mistaken, MusterError, ProtocolError, Refused
from .faces import AsyncClient, Client, connect, connect_async
from .ids import Entity, nil
from .people import Camera, People, Person
from .session import Ack, Child, Found, RunEdit, Shown, Step
from .values import Value, as_dict
from .watch import Changes, Event, Gap, Node, Since

__all__ = ["Ack", "AsyncClient", "Camera", "Changes", "Child", "Client", "Entity", "Event", "Found", "Gap", "Late", "Lost",
           "Mistaken", "MusterError", "Node", "People", "Person", "ProtocolError", "Refused", "RunEdit", "Shown", "Since", "Step", "Value",
           "as_dict", "connect", "connect_async", "nil"]
