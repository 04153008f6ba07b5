# frozen_string_literal: true

require "millpond/call"

module Millpond
  # The Lua script of a step, for use with your own Redis connection: send `EVALSHA sha1 <number of
  # keys> keys … arguments …`, and on a `NOSCRIPT` error send `EVAL source` with the same. An
  # `AGAIN` error means that nothing was done yet: send the same call again immediately. The comment
  # at the end of the source describes the arguments and the result; {Ick.keys}, {ShuffleQueue.keys}
  # and {ShuffleQueue.tracking_keys} return the keys.
  #
  # Such a connection must not resend a call by itself after it was dropped: an exchange that runs
  # twice can lose a member. In redis-rb, set `reconnect_attempts: 0`.
  #
  # @!attribute [r] name
  #   @return [String] the step, such as "ick.add"
  # @!attribute [r] source
  #   @return [String] the source
  # @!attribute [r] sha1
  #   @return [String] the SHA1 of the source, in 40 hexadecimal digits
  Script = Struct.new(:name, :source, :sha1)

  # See above.
  class Script
    # Finds the script of a step. Makes no call.
    #
    # @param name [String] the step
    # @return [Script]
    # @raise [InvalidArgumentError] if no step has this name
    #
    # @example
    #   Millpond::Script.find("ick.add").sha1.size # => 40
    def self.find(name)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| Native.millpond_script_find(name, out, error) }
      found = Native::Script.new(out.read_pointer)
      source = found[:source].read_bytes(found[:source_length]).force_encoding(Encoding::UTF_8)
      new(name.dup.freeze, source.freeze, found[:sha1].freeze).freeze
    end
  end
end
