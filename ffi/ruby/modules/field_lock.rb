# frozen_string_literal: true

require "millpond/convert"
require "millpond/held"

module Millpond
  # core
  # @example
  #   pages = Millpond.connect("memory:").volatile_hash("pages")
  #   pages.lock("/", ttl: 10) { |lock| lock.set("<h1>…", ttl: 60) }
  #   [pages.get("/"), pages.holder("/")] # => ["<h1>…", nil]
  class FieldLock
    include Held

    # @api private
    def initialize(native)
      @native = native
    end

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   first = pages.lock("/", ttl: 10) { |lock| lock.fence }
    #   pages.lock("/", ttl: 10) { |lock| lock.fence > first } # => true
    def fence = core

    # @example
    #   lock = Millpond.connect("memory:").volatile_hash("pages").lock("/", ttl: 10)
    #   lock.lost? # => false
    #   lock.release
    #   lock.lost? # => true
    def lost? = core

    # @example
    #   pages = Millpond.connect("memory:").volatile_hash("pages")
    #   lock = pages.lock("/", ttl: 10)
    #   lock.set("<h1>…", ttl: 60)
    #   lock.release
    #   lock.set("<h2>…", ttl: 60) # raises Millpond::LeaseLostError
    def set(value, ttl:) = core

    # @example
    #   lock = Millpond.connect("memory:").volatile_hash("pages").lock("/", ttl: 10)
    #   lock.release # => true
    #   lock.release # => false
    def release
      release_once { |out, error| Native.millpond_volatile_lock_release(@native, out, error) }
    end
  end
end
