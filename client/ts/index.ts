// The module that programs import; it also runs in browsers. muster-client/node adds connect and
// read_address_file. Names and concepts are those of client/cpp.
//
//   node_stream.ts ─ connection.ts ─ client.ts ─ replica.ts      bytes (web_stream.ts in browsers), frames
//                    frame.ts        texts.ts   replica_copy.ts  and answers, calls, a copy that follows
//                                    ids.ts     watches.ts
//                                    handlers.ts
//                    step.ts ─ batch.ts ─ values.ts, tables.ts   steps; batches; structs and FlatBuffers as objects
//                    type_table.ts ─ schema_loader.ts            descriptors, from binary schemas
//
// The structure of a batch is checked when it arrives, so reads stay within it; values are decoded
// on request. Padding is not checked, because the server has checked it.
export { Batch, BatchKind, encode_batch, SubtreeParts, timed_batch } from './batch.js';
export type { BatchPlan, Row, RowSetEntry } from './batch.js';
export { BadBytes, hash32, hash64 } from './bytes.js';
export { Client } from './client.js';
export type { RowOf, RowsOf } from './client.js';
export type { ClientOptions } from './client_options.js';
export { ClientError } from './client_error.js';
export type { ErrorKind } from './client_error.js';
export { answer_of } from './received.js';
export type { Received } from './received.js';
export type { Reopen } from './resuming.js';
export type { Acknowledged, SoFar } from './epoch.js';
export { dry_run, expect } from './expecting.js';
export { encode_frame, FrameDecoder } from './frame.js';
export type { Envelope, Frame } from './frame.js';
export { log_rows } from './log.js';
export type { LogRow } from './log.js';
export { handler_rows } from './handlers.js';
export type { HandlerRow } from './handlers.js';
export * as muster from './muster.js';
export { Replica } from './replica.js';
export type { ReplicaListeners, ReplicaScope } from './replica.js';
export type { PackedChanges, ReplicaColumn } from './replica_column.js';
export type { ReplicaChanges, ReplicaEntity } from './replica_copy.js';
export * as session from './session.js';
export type { ShownEntity, ShownHeld } from './shown.js';
export { batches_of } from './step.js';
export type { FieldEdit, StepOptions, StepPart } from './step.js';
export type { ByteStream } from './stream.js';
export type { Target } from './targets.js';
export { Tree } from './tree.js';
export type { TreeChanges, TreeListeners, TreeRow } from './tree.js';
export { place_of, TypeTable } from './type_table.js';
export type { FieldPlace } from './type_table.js';
export { id_text, is_nil, nil, rights, same_entity } from './types.js';
export type {
  Entity,
  EnumDescriptor,
  EnumValue,
  FieldDescriptor,
  FieldKind,
  Init,
  Right,
  TypeDescriptor,
  TypeKey,
  TypeRef,
  TypeRole,
} from './types.js';
export { default_bytes, read_struct, write_whole_struct } from './values.js';
export type { StructValue } from './values.js';
export type { OpenWatch, WatchChange, WatchHandlers } from './watches.js';
export { connect_web_stream } from './web_stream.js';
