# frozen_string_literal: true

require "millpond/call"

module Millpond
  # The Lua script of a step, for a Redis connection of your own: send `EVALSHA sha1 <number of keys>
  # keys … arguments …`, and on a `NOSCRIPT` error `EVAL source` with the same. An `AGAIN` error means
  # that nothing was done yet: send the same again at once. The comment at the end of the source says
  # what the arguments and the result are; {Ick.keys}, {ShuffleQueue.keys} and
  # {ShuffleQueue.tracking_keys} say the keys.
  #
  # Such a connection must not resend a call by itself after a dropped connection: an exchange
  # that runs twice can lose a member. In redis-rb that is `reconnect_attempts: 0`.
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
    # @raise [InvalidArgumentError] for a name that no step has
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
