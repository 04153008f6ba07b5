# frozen_string_literal: true

require "millpond/record"

module Millpond
  class Added
    alias to_ary to_a

    # @api private
    def self.of
      out = FFI::MemoryPointer.new(:uint64, 2)
      Call.check { |error| yield out, error }
      new(*out.read_array_of_uint64(2)).freeze
    end
  end

  # The sizes and score ranges of an Ick. A range of an empty set is nil.
  #
  # @!attribute [r] ver
  #   @return [String] the version flag, "ick.v1"
  # @!attribute [r] key
  #   @return [String] the name, which is the key of the flag
  # @!attribute [r] pset_key
  #   @return [String] the key of the producer set
  # @!attribute [r] cset_key
  #   @return [String] the key of the consumer set
  # @!attribute [r] pset_size
  #   @return [Integer] members that are flagged and not reserved
  # @!attribute [r] cset_size
  #   @return [Integer] members that are reserved and not committed
  # @!attribute [r] total_size
  #   @return [Integer] members in both sets together; one that is in both counts twice
  # @!attribute [r] pset_min
  #   @return [Float, nil] the lowest score in the producer set
  # @!attribute [r] pset_max
  #   @return [Float, nil] the highest score in the producer set
  # @!attribute [r] cset_min
  #   @return [Float, nil] the lowest score in the consumer set
  # @!attribute [r] cset_max
  #   @return [Float, nil] the highest score in the consumer set
  # @!attribute [r] total_min
  #   @return [Float, nil] the lowest score in both sets
  # @!attribute [r] total_max
  #   @return [Float, nil] the highest score in both sets
  #
  # @example
  #   ick = Millpond.connect("memory:").ick("files")
  #   ick.add([[1, "a.txt"], [2, "b.txt"]])
  #   stats = ick.stats
  #   [stats.pset_size, stats.pset_min, stats.pset_max, stats.cset_min] # => [2, 1.0, 2.0, nil]
  Stats = Struct.new(:ver, :key, :pset_key, :cset_key, :pset_size, :cset_size, :total_size,
                     :pset_min, :pset_max, :cset_min, :cset_max, :total_min, :total_max,
                     keyword_init: true)

  class Stats
    SIZES = %i[pset_size cset_size total_size].freeze
    private_constant :SIZES

    # @api private
    def self.of(found, keys)
      stats = new(ver: Native.millpond_ick_version, key: keys[0], pset_key: keys[1], cset_key: keys[2])
      SIZES.each { |name| stats[name] = found[name] }
      { pset: :pset_size, cset: :cset_size, total: :total_size }.each do |set, size|
        next if found[size].zero?

        stats[:"#{set}_min"] = found[:"#{set}_min"]
        stats[:"#{set}_max"] = found[:"#{set}_max"]
      end
      stats.freeze
    end
  end

  class Recovery
    # @api private
    def self.of(found)
      *numbers, suspicion, warnings = members.map { |name| found[name] }
      suspicion &&= Call.text(suspicion.dup)
      new(*numbers, suspicion, Call.text(warnings.to_s.dup).lines(chomp: true)).freeze
    end
  end
end
