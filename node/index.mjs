// The same classes for both kinds of modules: this only names them.
import millpond from './index.js'

export const {
  connect,
  version,
  Client,
  Ick,
  Batches,
  ConsumerLease,
  IckChannel,
  MillpondError,
  InvalidArgumentError,
  InvalidUrlError,
  CrossSlotError,
  WrongTypeError,
  IncompatibleVersionError,
  ConnectionFailedError,
  ConnectionLostError,
  TimeoutError,
  AuthenticationFailedError,
  PermissionDeniedError,
  UnavailableError,
  OutOfMemoryError,
  ServerError,
  LeaseLostError,
  LockedError,
  CorruptError,
  StorageError,
  ForkedError,
  ClosedError,
  CancelledError,
  InternalError
} = millpond
