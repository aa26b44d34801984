from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActionSchema(_message.Message):
    __slots__ = ["columns", "frame", "representation", "rotation_unit", "space", "translation_unit"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    REPRESENTATION_FIELD_NUMBER: _ClassVar[int]
    ROTATION_UNIT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TRANSLATION_UNIT_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[str]
    frame: str
    representation: str
    rotation_unit: str
    space: str
    translation_unit: str
    def __init__(self, space: _Optional[str] = ..., representation: _Optional[str] = ..., translation_unit: _Optional[str] = ..., rotation_unit: _Optional[str] = ..., frame: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ["action_schema_fingerprint", "dt_ns", "epoch", "horizon", "inference_ns", "link_session", "observation_id", "queue_ns", "start_offset_ns", "values", "width"]
    ACTION_SCHEMA_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    DT_NS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    HORIZON_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_NS_FIELD_NUMBER: _ClassVar[int]
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NS_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_NS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    action_schema_fingerprint: int
    dt_ns: int
    epoch: int
    horizon: int
    inference_ns: int
    link_session: int
    observation_id: int
    queue_ns: int
    start_offset_ns: int
    values: _containers.RepeatedScalarFieldContainer[float]
    width: int
    def __init__(self, link_session: _Optional[int] = ..., observation_id: _Optional[int] = ..., epoch: _Optional[int] = ..., action_schema_fingerprint: _Optional[int] = ..., horizon: _Optional[int] = ..., width: _Optional[int] = ..., dt_ns: _Optional[int] = ..., start_offset_ns: _Optional[int] = ..., values: _Optional[_Iterable[float]] = ..., queue_ns: _Optional[int] = ..., inference_ns: _Optional[int] = ...) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ["policy", "protocol_version", "runtime_versions", "status"]
    class RuntimeVersionsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    policy: PolicyFacts
    protocol_version: int
    runtime_versions: _containers.ScalarMap[str, str]
    status: HostStatus
    def __init__(self, protocol_version: _Optional[int] = ..., policy: _Optional[_Union[PolicyFacts, _Mapping]] = ..., status: _Optional[_Union[HostStatus, _Mapping]] = ..., runtime_versions: _Optional[_Mapping[str, str]] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class EdgeMessage(_message.Message):
    __slots__ = ["hello", "observation", "ping", "receipt", "refusal", "reset"]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    observation: Observation
    ping: Ping
    receipt: Receipt
    refusal: Refusal
    reset: Reset
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ..., reset: _Optional[_Union[Reset, _Mapping]] = ..., receipt: _Optional[_Union[Receipt, _Mapping]] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ["dtype", "frame", "name", "shape", "unit"]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    frame: str
    name: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    unit: str
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., unit: _Optional[str] = ..., frame: _Optional[str] = ...) -> None: ...

class FieldValue(_message.Message):
    __slots__ = ["age_ns", "name", "values"]
    AGE_NS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    age_ns: int
    name: str
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, name: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., age_ns: _Optional[int] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ["control_period_ns", "decision_period_ns", "fields", "joint_names", "link_session", "manifest_sha256", "obs_transform_sha256", "obs_transform_version", "protocol_version", "robot", "runtime_versions", "task_name"]
    class RuntimeVersionsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONTROL_PERIOD_NS_FIELD_NUMBER: _ClassVar[int]
    DECISION_PERIOD_NS_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    JOINT_NAMES_FIELD_NUMBER: _ClassVar[int]
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    OBS_TRANSFORM_SHA256_FIELD_NUMBER: _ClassVar[int]
    OBS_TRANSFORM_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    ROBOT_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    TASK_NAME_FIELD_NUMBER: _ClassVar[int]
    control_period_ns: int
    decision_period_ns: int
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    joint_names: _containers.RepeatedScalarFieldContainer[str]
    link_session: int
    manifest_sha256: bytes
    obs_transform_sha256: bytes
    obs_transform_version: int
    protocol_version: int
    robot: str
    runtime_versions: _containers.ScalarMap[str, str]
    task_name: str
    def __init__(self, protocol_version: _Optional[int] = ..., link_session: _Optional[int] = ..., robot: _Optional[str] = ..., joint_names: _Optional[_Iterable[str]] = ..., fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ..., obs_transform_version: _Optional[int] = ..., obs_transform_sha256: _Optional[bytes] = ..., manifest_sha256: _Optional[bytes] = ..., control_period_ns: _Optional[int] = ..., decision_period_ns: _Optional[int] = ..., task_name: _Optional[str] = ..., runtime_versions: _Optional[_Mapping[str, str]] = ...) -> None: ...

class HostMessage(_message.Message):
    __slots__ = ["chunk", "pong", "refusal", "status", "welcome"]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    chunk: Chunk
    pong: Pong
    refusal: Refusal
    status: HostStatus
    welcome: Welcome
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., chunk: _Optional[_Union[Chunk, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., status: _Optional[_Union[HostStatus, _Mapping]] = ...) -> None: ...

class HostStatus(_message.Message):
    __slots__ = ["edge_count", "state", "text"]
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    EDGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    STATE_CLOSING: HostStatus.State
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_LOADING: HostStatus.State
    STATE_READY: HostStatus.State
    STATE_UNSPECIFIED: HostStatus.State
    STATE_WARMING_UP: HostStatus.State
    TEXT_FIELD_NUMBER: _ClassVar[int]
    edge_count: int
    state: HostStatus.State
    text: str
    def __init__(self, state: _Optional[_Union[HostStatus.State, str]] = ..., text: _Optional[str] = ..., edge_count: _Optional[int] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ["age_ns", "encoding", "height_px", "name", "pixels", "width_px"]
    class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    AGE_NS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    ENCODING_JPEG: Image.Encoding
    ENCODING_RGB8: Image.Encoding
    ENCODING_UNSPECIFIED: Image.Encoding
    HEIGHT_PX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PIXELS_FIELD_NUMBER: _ClassVar[int]
    WIDTH_PX_FIELD_NUMBER: _ClassVar[int]
    age_ns: int
    encoding: Image.Encoding
    height_px: int
    name: str
    pixels: bytes
    width_px: int
    def __init__(self, name: _Optional[str] = ..., width_px: _Optional[int] = ..., height_px: _Optional[int] = ..., encoding: _Optional[_Union[Image.Encoding, str]] = ..., pixels: _Optional[bytes] = ..., age_ns: _Optional[int] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ["age_ns", "buffered_row_count", "buffered_rows", "command_rad", "effort_nm", "epoch", "fields", "images", "link_session", "measured_delay_ns", "observation_id", "position_rad", "since_reset_ns", "task_text", "velocity_rad_per_s"]
    AGE_NS_FIELD_NUMBER: _ClassVar[int]
    BUFFERED_ROWS_FIELD_NUMBER: _ClassVar[int]
    BUFFERED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_RAD_FIELD_NUMBER: _ClassVar[int]
    EFFORT_NM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    MEASURED_DELAY_NS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_RAD_FIELD_NUMBER: _ClassVar[int]
    SINCE_RESET_NS_FIELD_NUMBER: _ClassVar[int]
    TASK_TEXT_FIELD_NUMBER: _ClassVar[int]
    VELOCITY_RAD_PER_S_FIELD_NUMBER: _ClassVar[int]
    age_ns: int
    buffered_row_count: int
    buffered_rows: _containers.RepeatedScalarFieldContainer[float]
    command_rad: _containers.RepeatedScalarFieldContainer[float]
    effort_nm: _containers.RepeatedScalarFieldContainer[float]
    epoch: int
    fields: _containers.RepeatedCompositeFieldContainer[FieldValue]
    images: _containers.RepeatedCompositeFieldContainer[Image]
    link_session: int
    measured_delay_ns: int
    observation_id: int
    position_rad: _containers.RepeatedScalarFieldContainer[float]
    since_reset_ns: int
    task_text: str
    velocity_rad_per_s: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, link_session: _Optional[int] = ..., observation_id: _Optional[int] = ..., epoch: _Optional[int] = ..., position_rad: _Optional[_Iterable[float]] = ..., velocity_rad_per_s: _Optional[_Iterable[float]] = ..., effort_nm: _Optional[_Iterable[float]] = ..., command_rad: _Optional[_Iterable[float]] = ..., fields: _Optional[_Iterable[_Union[FieldValue, _Mapping]]] = ..., images: _Optional[_Iterable[_Union[Image, _Mapping]]] = ..., task_text: _Optional[str] = ..., age_ns: _Optional[int] = ..., buffered_rows: _Optional[_Iterable[float]] = ..., buffered_row_count: _Optional[int] = ..., measured_delay_ns: _Optional[int] = ..., since_reset_ns: _Optional[int] = ...) -> None: ...

class Ping(_message.Message):
    __slots__ = ["edge_sent_ns", "ping_id"]
    EDGE_SENT_NS_FIELD_NUMBER: _ClassVar[int]
    PING_ID_FIELD_NUMBER: _ClassVar[int]
    edge_sent_ns: int
    ping_id: int
    def __init__(self, ping_id: _Optional[int] = ..., edge_sent_ns: _Optional[int] = ...) -> None: ...

class PolicyFacts(_message.Message):
    __slots__ = ["accepts_jpeg", "action_schema", "action_schema_fingerprint", "dt_ns", "horizon", "latency_ns_p99", "manifest_sha256", "name", "obs_transform_sha256", "obs_transform_version", "required_fields"]
    ACCEPTS_JPEG_FIELD_NUMBER: _ClassVar[int]
    ACTION_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ACTION_SCHEMA_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    DT_NS_FIELD_NUMBER: _ClassVar[int]
    HORIZON_FIELD_NUMBER: _ClassVar[int]
    LATENCY_NS_P99_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBS_TRANSFORM_SHA256_FIELD_NUMBER: _ClassVar[int]
    OBS_TRANSFORM_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELDS_FIELD_NUMBER: _ClassVar[int]
    accepts_jpeg: bool
    action_schema: ActionSchema
    action_schema_fingerprint: int
    dt_ns: int
    horizon: int
    latency_ns_p99: int
    manifest_sha256: bytes
    name: str
    obs_transform_sha256: bytes
    obs_transform_version: int
    required_fields: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, name: _Optional[str] = ..., action_schema: _Optional[_Union[ActionSchema, _Mapping]] = ..., action_schema_fingerprint: _Optional[int] = ..., horizon: _Optional[int] = ..., dt_ns: _Optional[int] = ..., required_fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ..., obs_transform_version: _Optional[int] = ..., obs_transform_sha256: _Optional[bytes] = ..., accepts_jpeg: bool = ..., manifest_sha256: _Optional[bytes] = ..., latency_ns_p99: _Optional[int] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ["edge_sent_ns", "host_received_ns", "host_sent_ns", "ping_id", "state"]
    EDGE_SENT_NS_FIELD_NUMBER: _ClassVar[int]
    HOST_RECEIVED_NS_FIELD_NUMBER: _ClassVar[int]
    HOST_SENT_NS_FIELD_NUMBER: _ClassVar[int]
    PING_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    edge_sent_ns: int
    host_received_ns: int
    host_sent_ns: int
    ping_id: int
    state: HostStatus.State
    def __init__(self, ping_id: _Optional[int] = ..., edge_sent_ns: _Optional[int] = ..., host_received_ns: _Optional[int] = ..., host_sent_ns: _Optional[int] = ..., state: _Optional[_Union[HostStatus.State, str]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ["accepted", "code", "link_session", "observation_id"]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    code: str
    link_session: int
    observation_id: int
    def __init__(self, link_session: _Optional[int] = ..., observation_id: _Optional[int] = ..., accepted: bool = ..., code: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ["expected", "field", "found", "remedy"]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    expected: str
    field: str
    found: str
    remedy: str
    def __init__(self, field: _Optional[str] = ..., expected: _Optional[str] = ..., found: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class Reset(_message.Message):
    __slots__ = ["epoch", "link_session"]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    link_session: int
    def __init__(self, link_session: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ["link_session", "policy", "protocol_version", "runtime_versions"]
    class RuntimeVersionsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LINK_SESSION_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    link_session: int
    policy: PolicyFacts
    protocol_version: int
    runtime_versions: _containers.ScalarMap[str, str]
    def __init__(self, protocol_version: _Optional[int] = ..., link_session: _Optional[int] = ..., policy: _Optional[_Union[PolicyFacts, _Mapping]] = ..., runtime_versions: _Optional[_Mapping[str, str]] = ...) -> None: ...
