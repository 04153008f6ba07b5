# frozen_string_literal: true

require "millpond/field_lock"
require "millpond/held"
require "millpond/task_arguments"
require "millpond/volatile_results"

module Millpond
  # core
  # @example
  #   pages = Millpond.connect("memory:").volatile_hash("pages")
  #   pages.get_or_acquire("/", "req-1", ttl: 5).fence.nil? # => false
  #   pages.get_or_acquire("/", "req-2", ttl: 5).fence.nil? # => true
  #   pages.set_and_release("/", "req-1", "<h1>…", ttl: 60)
  #   pages.get_or_acquire("/", "req-2", ttl: 5).value # => "<h1>…"
  class VolatileHash
    # @return [String] the name; in a family, the base
    attr_reader :name

    # @api private
    #
    # @param argument [String] what the name is called in errors
    # @yield the name and its length, and the out-parameters for the library's hash and for the error
    def initialize(encoding, argument, name)
      @encoding = encoding
      @name = Convert.bytes(argument, name)
      @native = Call.handle(Native::VolatileHash) { |out, error| yield @name, @name.bytesize, out, error }
    end

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   sessions.get("ann") # => "cart 3"
    def set(field, value, ttl:) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set_many({ "ann" => "cart 3", "bob" => "cart 4" }, ttl: 1_800)
    #   sessions.len # => 2
    def set_many(fields, ttl:) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set_if_absent("ann", "cart 3", ttl: 1_800) # => true
    #   sessions.set_if_absent("ann", "cart 4", ttl: 1_800) # => false
    def set_if_absent(field, value, ttl:) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set_if_present("ann", "cart 3", ttl: 1_800) # => false
    def set_if_present(field, value, ttl:) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.set_locked("/", "req-1", "<h1>…", ttl: 60)
    #   pages.set_locked("/", "req-2", "<h2>…", ttl: 60) # raises Millpond::LeaseLostError
    def set_locked(field, token, value, ttl:) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.set_and_release("/", "req-1", "<h1>…", ttl: 60)
    #   pages.holder("/") # => nil
    def set_and_release(field, token, value, ttl:) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.get("ann") # => nil
    def get(field) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   sessions.get_many(%w[ann bob]) # => ["cart 3", nil]
    def get_many(fields) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   { "/" => 30, "/a" => 10, "/b" => 20 }.each { |path, ttl| pages.set(path, "<h1>…", ttl: ttl) }
    #   first = pages.fields(limit: 2)
    #   first.fields.map(&:field) # => ["/a", "/b"]
    #   pages.fields(after: first.next, omit_values: true).fields.map(&:field) # => ["/"]
    def fields(after: nil, limit: nil, omit_values: false)
      query = Convert.options(Native::FieldQuery, limit: limit, omit_values: omit_values)
      unless after.nil?
        Convert.one_of("after", after, FieldPosition, HashField)
        place = [Convert.size("after.expires_us", after.expires_us), Convert.bytes("after.field", after.field)]
        query[:after], = TaskArguments.list(Native::FieldPosition, [place])
      end
      page = VolatileResults.of(@encoding) { |out, error| Native.millpond_volatile_fields(@native, query, out, error) }
      FieldPage.new(page.fields, page.next).freeze
    end

    # @example
    #   clock = Millpond::ManualClock.new
    #   sessions = Millpond.connect("memory:", clock: clock).volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   clock.advance(0.5)
    #   sessions.ttl("ann") # => 1799.5
    #   clock.advance(1_800)
    #   sessions.ttl("ann") # => nil
    def ttl(field) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   sessions.len # => 1
    def len = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.stats.to_a # => [0, 0, 1]
    def stats = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   sessions.touch("ann", ttl: 3_600) # => true
    #   sessions.touch("bob", ttl: 3_600) # => false
    def touch(field, ttl:) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set("ann", "cart 3", ttl: 1_800)
    #   sessions.delete(%w[ann bob]) # => 1
    #   sessions.delete("ann") # => 0
    def delete(fields) = core

    # @example
    #   sessions = Millpond.connect("memory:").volatile_hash("sessions")
    #   sessions.set_many({ "ann" => "cart 3", "bob" => "cart 4" }, ttl: 1_800)
    #   sessions.clear # => 2
    def clear = core

    # @example
    #   clock = Millpond::ManualClock.new
    #   pages = Millpond.connect("memory:", clock: clock).volatile_hash("pages")
    #   pages.set("/", "<h1>…", ttl: 60)
    #   clock.advance(45)
    #   pages.reap.next_in # => 15.0
    #   clock.advance(15)
    #   pages.reap.fields # => 1
    def reap(limit: 5) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   fence = pages.acquire("/", "req-1", ttl: 5).fence
    #   pages.acquire("/", "req-1", ttl: 60).fence == fence # => true
    #   pages.acquire("/", "req-2", ttl: 5).remaining.between?(5, 60) # => true
    def acquire(field, token, ttl:) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   found = pages.get_or_acquire("/", "req-1", ttl: 5)
    #   pages.set_and_release("/", "req-1", "<h1>…", ttl: 60) if found.fence
    #   pages.get_or_acquire("/", "req-1", ttl: 5).value # => "<h1>…"
    def get_or_acquire(field, token, ttl:) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.lock("/", ttl: 10) do |lock|
    #     lock.set("<h1>…", ttl: 60)
    #     pages.lock("/", ttl: 10)
    #   end # => nil
    #   pages.get("/") # => "<h1>…"
    def lock(field, ttl:, &block)
      ttl = Convert.milliseconds("ttl", ttl)
      field = Convert.sized("field", field)
      native = Call.handle(Native::VolatileLock) do |out, error|
        Native.millpond_volatile_lock_acquire(@native, *field, ttl, out, error)
      end
      Held.hold(native && FieldLock.new(native), &block)
    end

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.renew("/", "req-1", ttl: 5) # => true
    #   pages.renew("/", "req-2", ttl: 5) # => false
    def renew(field, token, ttl:) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.release("/", "req-1") # => true
    #   pages.release("/", "req-1") # => false
    def release(field, token) = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   pages.acquire("/", "req-1", ttl: 5)
    #   pages.holder("/").token # => "req-1"
    #   pages.holder("/a") # => nil
    def holder(field) = core
  end
end
