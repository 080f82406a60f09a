"""The few types that a client needs before the server sends its schemas.

The server's definitions replace these at once. Fields that are added to them later do not matter,
because a table names its fields by their slots."""
from .schema import UBYTE, STRING, ULONG, VECTOR, Enum, Field, Type, python_name

_BASES = {"bool": 2, "ubyte": UBYTE, "ushort": 6, "uint": 8, "ulong": ULONG, "double": 12, "string": STRING}
_TABLES = {
    "Hello": "protocol:uint protocol_oldest:uint token:string name:string kind:string secret:ulong last_sequence:ulong "
             "schema_fingerprint:ulong token_id:[ubyte] nonce:[ubyte] world:string resumable:bool resume:[ubyte] "
             "session:ulong epoch:ulong lineage:ulong",
    "Challenge": "nonce:[ubyte] proof:[ubyte]",
    "Proof": "proof:[ubyte]",
    "Welcome": "protocol:uint epoch:ulong secret:ulong session:ulong sequence:ulong clock_ns:ulong role:ubyte resumed:bool "
               "schema_fingerprint:ulong world:string hz:double frame_bytes_max:uint watches_max:uint requests_max:uint "
               "silence_ns_max:ulong ended_code:ushort ended:string playing:bool resume:[ubyte] resume_ns_max:ulong "
               "lineage:ulong not_resumed:string not_resumed_text:string",
    "Fault": "code:ushort closes:bool text:string reason:string type:uint field:string offset:uint entity:Entity "
             "value:[ubyte] sequence:ulong handled:uint unhandled:uint dead:uint refused:uint "
             "resume_at:string",
    "Schema": "index:uint count:uint bytes:[ubyte]",
}
_CODES = {"none": 0, "bad_frame": 1, "bad_batch": 2, "bad_protocol": 3, "bad_token": 4, "hello_expected": 5,
          "hello_repeated": 6, "hello_late": 7, "wrong_direction": 8, "limit_exceeded": 9, "slow_reader": 10, "silent": 11,
          "stopping": 12, "stalled": 13, "kicked": 14, "taken_over": 15, "no_right": 100, "refused": 101, "dead_entity": 102,
          "unknown_type": 103, "not_found": 104, "bad_question": 105, "busy": 106, "failed": 107, "request_in_use": 108,
          "not_recorded": 109}


def bootstrap():
    """Returns types and enums as read_schema() does."""
    codes = Enum("muster.session.FaultCode", _CODES, False)
    entity = _struct("muster.Entity", [("index", "uint"), ("generation", "uint")])
    types = {entity.name: entity}
    ask = _struct("muster.session.GetSchema", [("reserved", "ulong")])
    types[ask.name] = ask
    for name, text in _TABLES.items():
        made = Type("muster.session." + name)
        made.is_struct = False
        for slot, word in enumerate(text.split()):
            field_name, kind = word.split(":")
            field = _field(field_name, kind, slot, 0)
            if kind == "Entity":
                field.base, field.of = 15, entity
            if field_name in ("code", "ended_code"):
                field.enum = codes
            made.fields.append(field)
        types[made.name] = made
    return types, {codes.name: codes}


def _struct(name, fields):
    made = Type(name)
    at = 0
    for slot, (field_name, kind) in enumerate(fields):
        size = 8 if kind == "ulong" else 4
        made.fields.append(_field(field_name, kind, slot, at))
        at += size
    made.size, made.align = at, 8
    return made


def _field(name, kind, slot, offset):
    field = Field()
    inner = kind.strip("[]")
    field.name, field.attribute, field.slot, field.offset = name, python_name(name, ()), slot, offset
    field.base, field.element = _BASES.get(inner, 0), 0
    if kind != inner:
        field.base, field.element = VECTOR, _BASES[inner]
    field.of = field.enum = None
    field.length = field.default = 0
    field.attributes, field.doc = {}, ""
    field.required = field.optional = field.deprecated = False
    return field
