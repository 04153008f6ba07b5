# frozen_string_literal: true

require "millpond/event_queue"
require "millpond/ick"
require "millpond/ick_channel"
require "millpond/manual_clock"
require "millpond/queue_tracker"
require "millpond/recruiter"
require "millpond/shuffle_queue"
require "millpond/task_store"
require "millpond/volatile_hash"
require "millpond/volatile_hashes"

module Millpond
  # Access to the queues on a server or an embedded engine. Safe to use from many threads and, on Redis, after a
  # fork.
  class Client
    # @return [Encoding] the encoding of returned members and names, as far as they are valid in it
    attr_reader :encoding

    # @api private
    attr_reader :native

    # @api private
    def initialize(native, encoding)
      @native = native
      @encoding = encoding
    end

    # The Ick with this name. Makes no call.
    #
    # @param name [String] the queue's name, 1 to 64 KiB
    # @return [Ick]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").ick("files").name # => "files"
    def ick(name)
      Ick.new(self, name)
    end

    # The channel of `shards` Icks with this name. Makes no call.
    #
    # @param name [String] the queue's name, 1 to 64 KiB
    # @param shards [Integer] the number of Icks, 1 to 65,536
    # @return [IckChannel]
    # @raise [InvalidArgumentError] for zero Icks or more than 65,536
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).shards # => 4
    def ick_channel(name, shards)
      IckChannel.new(self, name, Convert.small_size("shards", shards))
    end

    # The shuffle queue with this name. Makes no call.
    #
    # Invalid settings are refused by the first call that needs them.
    #
    # @param name [String] the queue's name, 1 to 64 KiB
    # @param streams [Integer, nil] how many streams the queue has. The first write to a queue sets it. A write with
    #   another number is refused, with both numbers in the error, and {ShuffleQueue#resize} changes it. By default
    #   writers use the queue's number, and a new queue gets 16. Readers need not know the number
    # @param streams_per_shard [Integer, nil] how many of the streams a tenant may write to; by default 2
    # @param ttl [Numeric, nil] how long a stream lives after it was last written to, in seconds. **When that time is
    #   over, the stream is deleted with everything in it, including unprocessed messages.** By default nothing that is
    #   written expires. At least a second, at most 100 years. All writers of a queue should use the same time
    # @param dead_ttl [Numeric, nil] how long a dead letter is kept, in seconds. By default dead letters stay until
    #   they are {ShuffleQueue#delete_dead_letters deleted}. Each {ShuffleConsumer#reclaim} and {ShuffleConsumer#reject}
    #   of this handle's consumers deletes those that are older. At least a second, at most 100 years
    # @param track_keys [Symbol] where the records of tracked messages are: `:global`, in keys that all queues of a
    #   server share, or `:queue`. All programs that write, delete or collect tracked messages of a queue have to set
    #   the same value
    # @return [ShuffleQueue]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   queue = client.shuffle_queue("jobs", streams: 64, streams_per_shard: 4, ttl: 86_400)
    #   queue.stats("workers").streams.size # => 1
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   queue.stats("workers").streams.size # => 64
    def shuffle_queue(name, streams: nil, streams_per_shard: nil, ttl: nil, dead_ttl: nil,
                      track_keys: :global)
      options = Convert.options(Native::ShuffleOptions, streams: streams, streams_per_shard: streams_per_shard,
                                                        ttl: ttl, dead_ttl: dead_ttl,
                                                        track_keys: ShuffleArguments.track_keys(track_keys))
      ShuffleQueue.new(self, name, options)
    end

    # The task store with this name. Makes no call.
    #
    # @param name [String] the queue's name, 1 to 64 KiB
    # @param claimant [String, nil] the name under which this handle claims and holds tasks and documents: 1 to 64
    #   characters. By default, each new handle gets 16 random hexadecimal digits. The name is not a secret: a program
    #   that uses another claimant's name can do whatever that claimant can. The handle's own claims, renewals, inserts
    #   and changes are made under this claimant. Each job of a {TaskStore#worker} has its own claimant: this one cut to
    #   47 characters, `/` and 16 random hexadecimal digits. So two jobs never hold the same task or document, even if
    #   they share this handle, and only a job can change what it holds: use {Job#finish}, since {TaskStore#modify} is
    #   refused. If a job ends by postponing its task, this claimant holds the task until then
    # @return [TaskStore]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   client.tasks("shop", claimant: "worker-1").claimant # => "worker-1"
    #   client.tasks("shop").claimant.size # => 16
    def tasks(name, claimant: nil)
      TaskStore.new(self, name, claimant)
    end

    # The queue of events with this name. Makes no call: a queue is created at its first use, with one partition and
    # the defaults of {EventQueue#configure}, unless it was {EventQueue#configure configured} before.
    #
    # @param name [String] the queue's name, 1 to 64 KiB
    # @return [EventQueue]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").events("orders").publish("paid").status # => :created
    def events(name)
      EventQueue.new(self, name)
    end

    # The volatile hash with this name. Makes no call.
    #
    # @param name [String] the name of the hash, 1 to 64 KiB
    # @return [VolatileHash]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").volatile_hash("sessions").name # => "sessions"
    def volatile_hash(name)
      VolatileHash.new(encoding, "name", name) { |*places| Native.millpond_volatile_hash_new(native, *places) }
    end

    # The family of volatile hashes with this name. Makes no call.
    #
    # @param name [String] the name of the family, 1 to 64 KiB
    # @param shards [Integer] the number of shards, 1 to 1,024; the same in all programs
    # @return [VolatileHashes]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   client.volatile_hashes("carts").shards # => 16
    #   client.volatile_hashes("carts", shards: 64)["ann"].len # => 0
    def volatile_hashes(name, shards: 16)
      VolatileHashes.new(self, name, shards)
    end

    # The recruiter with this name. Makes no call.
    #
    # @param name [String] the name of the recruiter, 1 to 64 KiB
    # @return [Recruiter]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").recruiter("site").name # => "site"
    def recruiter(name)
      Recruiter.new(self, name)
    end

    # The queue tracker with this name. Makes no call.
    #
    # @param name [String] the name of the tracker, 1 to 64 KiB
    # @return [QueueTracker]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").queue_tracker("orders").name # => "orders"
    def queue_tracker(name)
      QueueTracker.new(self, name)
    end

    # The names of all task stores that hold tasks or documents, or that have a paused queue, by name.
    #
    # On Redis there is no list of stores, since maintaining one would make every insert more expensive. Instead, this
    # call scans all keys of the server, or, in a cluster, those of one master after another. A step scans about 1,000
    # keys and takes less than a millisecond, so a server with a million keys takes about 1,000 steps. A store that
    # exists during the whole scan is found, unless its slot moves to another server in that time. A user sees only
    # the stores that it may access.
    #
    # @return [Array<String>]
    # @raise [UnavailableError] if the cluster changes during the scan, in which case try again; otherwise only those
    #   of the connection
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   client.tasks("shop").insert("inbox")
    #   client.task_stores # => ["shop"]
    def task_stores
      Convert.keys(encoding) { |out, error| Native.millpond_client_task_stores(native, out, error) }
    end

    # What was found when the engine of a `file:` was opened; nil for another URL. Makes no call. Clients in one
    # process that share a directory get the same.
    #
    # @return [Recovery, nil]
    #
    # @example
    #   Millpond.connect("memory:").recovery # => nil
    def recovery
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| Native.millpond_recovery_read(native, out, error) }
      pointer = out.read_pointer
      Recovery.of(Native::Recovered.new(Native.millpond_recovery_data(pointer))) unless pointer.null?
    ensure
      Native.millpond_recovery_free(out.read_pointer) if out
    end

    # Closes the client: from now on its calls fail with {ClosedError}, including those that are waiting, and an
    # embedded engine writes what it has not written yet. Closing twice is safe.
    #
    # @return [nil]
    # @raise [StorageError] if the last write to the disk fails
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   client.close
    #   client.ick("files").stats # raises Millpond::ClosedError
    def close
      Call.check { |error| Native.millpond_close(native, error) }
      nil
    end
  end

  # Connects to a server or opens an embedded engine.
  #
  # | URL | where the queues are |
  # | --- | --- |
  # | `memory:` | embedded, gone with the client |
  # | `memory:name` | embedded, shared in the process |
  # | `file:dir` | embedded and durable, in this directory; one process at a time |
  # | `redis://user:password@host:6379/db` | one server; `rediss:` for TLS |
  # | `redis+unix:///path/to/socket` | one server on a Unix socket |
  # | `redis+sentinel://host,host2/service/db` | follows failovers |
  # | `redis+cluster://host,host2` | Redis Cluster |
  #
  # The URL can contain further options, as in `?pool=4`. A Redis client connects when it first sends something, so it
  # can be created before a fork. If opening a `file:` finds something that an operator should know about, such as bytes
  # that were cut off, it warns; see {Client#recovery}.
  #
  # @param url [String]
  # @param encoding [Encoding, String] the encoding of returned members, as in redis-rb: strings that are not valid in
  #   it are returned as binary. Use `Encoding::BINARY` for bytes.
  # @param timeout [Numeric, nil] the most seconds that a call takes (5), including connecting and retries
  # @param connect_timeout [Numeric, nil] the most seconds for one attempt to connect (1)
  # @param retries [Integer, nil] attempts after the first to connect, or to reach a server that is busy, loading or
  #   failing over (10)
  # @param username [String, nil] used together with a password
  # @param password [String, nil]
  # @param client_name [String, nil] the connections' name in `CLIENT LIST`
  # @param clock [ManualClock, nil] the clock of an embedded engine, for tests; by default the system's. Clients that
  #   share an engine share its clock: a client without one uses the engine's, and a client with a different one is
  #   refused with {InvalidArgumentError}. So is a clock for a server, which has its own time
  # @yield [client] closes the client when the block ends
  # @return [Client] or, with a block, what the block returns
  # @raise [InvalidUrlError] for a URL, or an option in it, that is not supported
  # @raise [InvalidArgumentError, TypeError] for an invalid option
  # @raise [LockedError] if another process holds the directory of a `file:`; use `redis:` to share queues
  # @raise [CorruptError] if the data in that directory is damaged, or lacks what was on disk, unless the URL has
  #   `?repair`
  #
  # @example
  #   Millpond.connect("memory:") do |client|
  #     client.ick("files").add([[1, "a.txt"]]).new
  #   end # => 1
  def self.connect(url, encoding: Encoding.default_external, timeout: nil, connect_timeout: nil,
                   retries: nil, username: nil, password: nil, client_name: nil, clock: nil)
    { timeout: timeout, connect_timeout: connect_timeout }.compact.each do |name, time|
      Convert.some_milliseconds(name, time)
    end
    Convert.bytes("url", url)
    Convert.one_of("clock", clock, ManualClock) unless clock.nil?
    options = Convert.options(Native::Options, url: url, username: username, password: password, quiet: true,
                                               client_name: client_name, timeout: timeout, retries: retries,
                                               connect_timeout: connect_timeout, clock: clock&.native)
    encoding = Encoding.find(encoding)

    native = Call.handle(Native::Client) do |out, error|
      Native.millpond_connect_with(options, out, error)
    end
    client = Client.new(native, encoding)
    told = client.recovery&.warnings.to_a.map { |text| "millpond: #{text}" }
    # Not in a block: `uplevel` would count the block as a caller.
    warn(told.join("\n"), uplevel: 1) unless told.empty?
    return client unless block_given?

    begin
      yield client
    ensure
      client.close
    end
  end
end
