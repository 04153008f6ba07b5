# frozen_string_literal: true

require "millpond/call"

module Millpond
  # Converts Ruby values to what the library takes, and back. Errors name the argument and the index in it, and
  # are raised before anything is sent.
  #
  # @api private
  module Convert
    SIZE_MAX = (1 << 64) - 1
    INT64_MAX = (1 << 63) - 1
    # How much a call takes at most, of each kind.
    LIMITS = Native::Limits.new(Native.millpond_limits_data).then do |limits|
      limits.members.to_h { |name| [name, limits[name]] }.freeze
    end
    # The name of a field that takes a time.
    MILLISECONDS = Hash.new { |names, name| names[name] = :"#{name}_ms" }
    STRIDE = Native.millpond_ick_entries_stride
    private_constant :STRIDE, :MILLISECONDS

    # A copy, since another thread can change the caller's string at any time, even while the library reads it.
    # Long strings share their bytes until one of the two changes.
    #
    # @return [String] a frozen copy; only its bytes matter
    def self.bytes(argument, value)
      return String.new(value).freeze if value.is_a?(String)

      raise wrong_type(argument, "a String", value)
    end

    # @return [Array(String, Integer)] a frozen copy and its length
    def self.sized(argument, value)
      copy = bytes(argument, value)
      [copy, copy.bytesize]
    end

    # Refuses a value of any other class.
    def self.one_of(argument, value, *kinds)
      return if kinds.any? { |kind| value.is_a?(kind) }

      kinds = kinds.map { |kind| "a #{kind.name.delete_prefix('Millpond::')}" }
      raise wrong_type(argument, kinds.join(" or "), value)
    end

    # Converts the values of fields, by the fields' types and names: seconds become milliseconds, and nil for an
    # optional number becomes the value that means "not set".
    #
    # @return [Hash]
    def self.fields(kind, values)
      types = kind.fields
      check_times(values)
      row = {}
      values.each do |name, value|
        type = types[name]
        row[type ? name : MILLISECONDS[name]] = field(type, name, value)
      end
      row
    end

    # @return [Native::Structure] with defaults for what is not given
    def self.options(kind, values)
      types = kind.fields
      check_times(values)
      options = kind.initial
      values.each do |name, value|
        type = types[name]
        next if value.nil? && type != :uint32 && type != :uint64

        value = field(type, name, value)
        value.is_a?(String) ? options.put_text(name, value) : options[type ? name : MILLISECONDS[name]] = value
      end
      options
    end

    # Checks that a time is given as a point in time or as a delay, not as both.
    def self.check_times(values)
      both = !values[:at_ms].nil? && !values[:delay].nil?
      raise invalid("at_ms and delay are both given; only one is allowed") if both
    end

    def self.field(type, name, value)
      case type
      when nil then value.nil? ? Native::NOT_SET : milliseconds(name, value)
      when :bool then value ? true : false
      when :pointer then value
      when :double then number(name, value)
      when :int64 then value.nil? ? Native::NOT_SET : size(name, in_milliseconds(value), INT64_MAX)
      when :uint32 then small_size(name, value)
      when :uint64 then size(name, value)
      else bytes(name, value)
      end
    end

    # Converts a point in time to milliseconds since the Unix epoch; leaves anything else unchanged.
    def self.in_milliseconds(time)
      time = time.to_time if time.respond_to?(:to_time) && !time.is_a?(String)
      time.is_a?(Time) ? (time.to_r * 1000).floor : time
    end

    # @return [Integer] a size or a count
    def self.size(argument, value, max = SIZE_MAX)
      raise wrong_type(argument, "an Integer", value) unless value.is_a?(Integer)
      raise invalid("#{argument} is #{value}; it has to be 0 or more") if value.negative?
      raise invalid("#{argument} is #{value}, which is too large") if value > max

      value
    end

    # @return [Integer] a size or a count of 32 bits
    def self.small_size(argument, value)
      size(argument, value, (1 << 32) - 1)
    end

    # @return [Float]
    def self.number(argument, value)
      raise wrong_type(argument, "a number", value) unless value.is_a?(Numeric) && value.real?

      # To the library, NaN means "not set".
      value.to_f.nan? ? raise(invalid("#{argument} is NaN")) : value.to_f
    end

    # @return [Integer] milliseconds; a time that is too long for the library means no limit
    def self.milliseconds(argument, seconds)
      unless seconds.is_a?(Numeric) && seconds.real?
        raise wrong_type(argument, "a number of seconds", seconds)
      end
      unless seconds >= 0 # so that NaN is refused too
        raise invalid("#{argument} is #{seconds}; a time has to be 0 or more seconds")
      end

      seconds >= INT64_MAX / 1000 ? INT64_MAX : (seconds * 1000).ceil
    end

    # @return [Integer] milliseconds, more than 0
    def self.some_milliseconds(argument, seconds)
      time = milliseconds(argument, seconds)
      raise invalid("#{argument} has to be longer than 0 seconds") if time.zero?

      time
    end

    # Members for the library.
    #
    # @return [Array(FFI::Pointer, Integer)] their list and how many there are
    def self.members(values, max = LIMITS[:step_members])
      strings = elements("members", values, max).each_with_index.map do |member, index|
        member.is_a?(String) ? String.new(member) : raise(wrong_type("members[#{index}]", "a String", member))
      end
      texts(strings)
    end

    # @return [Array(FFI::Pointer, Integer)] the list of these strings and how many there are
    def self.texts(strings)
      list(Native::Bytes, strings) { |row, _, address, string| row << address << string.bytesize }
    end

    # @return [Array(FFI::Pointer, Integer)] the list of these fields with their values and how many there are
    def self.field_list(argument, values, max)
      # A field is two texts.
      memory, count = texts(field_strings(argument, values, max))
      [memory, count / 2]
    end

    # @return [Array<String>] each field followed by its value
    def self.field_strings(argument, values, max = LIMITS[:fields])
      named = values.is_a?(Hash)
      elements(argument, values, max).each_with_index.flat_map do |pair, index|
        raise wrong_type("#{argument}[#{index}]", "[field, value]", pair) unless pair.is_a?(Array) && pair.size == 2

        field, value = pair
        [string(field) { named ? "the key #{field.inspect} of #{argument}" : "#{argument}[#{index}][0]" },
         string(value) { named ? "#{argument}[#{field.inspect}]" : "#{argument}[#{index}][1]" }]
      end
    end

    # The argument's name is requested only for an invalid value, since inspecting a long field
    # takes time.
    #
    # @yieldreturn [String] the name of the argument
    # @return [String] a private copy; see {bytes}
    def self.string(value)
      value.is_a?(String) ? String.new(value) : raise(wrong_type(yield, "a String", value))
    end

    # Scores and members for the library.
    #
    # @return [Array(FFI::Pointer, Integer)] their list and how many there are
    def self.pairs(values)
      if values.is_a?(Hash)
        raise TypeError, "pairs must be a list of [score, member], not a Hash; for a Hash of " \
                         "scores write scores.map { |member, score| [score, member] }"
      end

      scores = []
      members = elements("pairs", values, LIMITS[:items]).each_with_index.map do |pair, index|
        score, member = pair(pair, index)
        scores << score
        member
      end
      list(Native::IckPair, members) do |row, index, address, member|
        score = scores[index]
        row << address << member.bytesize << (score || 0.0) << (score ? 0 : 1)
      end
    end

    # Numbers of Icks for the library.
    #
    # @return [Array(FFI::Pointer, Integer)] their list and how many there are
    def self.numbers(values)
      numbers = elements("numbers", values, LIMITS[:icks])
      numbers = numbers.each_with_index.map { |number, index| small_size("numbers[#{index}]", number) }
      [FFI::MemoryPointer.new(:uint32, numbers.size).write_array_of_uint32(numbers), numbers.size]
    end

    # Copies the entries that a call returned, and frees them.
    #
    # @yield the out-parameters for the entries and the error
    # @return [Array<Array(String, Float)>, nil] members and scores; nil for NULL
    def self.entries(encoding)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      pointer = out.read_pointer
      read_entries(pointer, encoding) unless pointer.null?
    ensure
      Native.millpond_ick_entries_free(out.read_pointer) if out
    end

    # Copies the list of keys or values that a call returned, and frees it.
    #
    # @yield the out-parameters for the list and the error
    # @return [Array<String>, nil] as text; nil for NULL
    def self.keys(encoding)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      pointer = out.read_pointer
      return if pointer.null?

      rows = Native::Bytes.rows(Native.millpond_keys_data(pointer), Native.millpond_keys_length(pointer))
      rows.map { |address, length| text(FFI::Pointer.new(address).read_bytes(length), encoding) }
    ensure
      Native.millpond_keys_free(out.read_pointer) if out
    end

    # Bytes as text, if they are valid in the encoding; otherwise as binary, as in redis-rb.
    def self.text(bytes, encoding)
      bytes.force_encoding(encoding)
      bytes.valid_encoding? ? bytes : bytes.force_encoding(Encoding::BINARY)
    end

    def self.pair(pair, index)
      return [nil, String.new(pair)] if pair.is_a?(String)
      unless pair.is_a?(Array) && pair.size == 2
        raise wrong_type("pairs[#{index}]", "[score, member] or a member", pair)
      end

      score, member = pair
      score = score("pairs[#{index}][0]", score) unless score.nil? || score.is_a?(Float)
      raise wrong_type("pairs[#{index}][1]", "a String", member) unless member.is_a?(String)

      [score, String.new(member)]
    end

    def self.score(argument, value)
      raise wrong_type(argument, "a number or nil", value) unless value.is_a?(Numeric)
      raise invalid("#{argument} is #{value}, which is no real number") unless value.real?

      too_large = value.is_a?(Integer) ? value.abs > Float::MAX : value.to_f.infinite? && !value.infinite?
      raise invalid("#{argument} is beyond the range of a Float") if too_large

      value.to_f
    end

    # Reads at most one item more than is allowed, since the source may be endless.
    #
    # @return [Array] a new one, which no other code changes
    def self.elements(argument, values, max)
      unless values.is_a?(Array) || values.respond_to?(:each_entry)
        raise wrong_type(argument, "a list, such as an Array", values)
      end

      found = values.is_a?(Array) ? values.first(max + 1) : values.each_entry.first(max + 1)
      raise invalid("#{argument} has more than #{max} items") if found.size > max

      found
    end

    # Refuses strings that are too long in total, before they are concatenated.
    #
    # @return [Integer] the bytes of these strings and of those before them
    def self.check_bytes(strings, before = 0)
      bytes = before + strings.sum(&:bytesize)
      return bytes if bytes <= LIMITS[:bytes]

      raise invalid("the strings of the call have more than #{LIMITS[:bytes]} bytes")
    end

    # One block of memory: rows, each made by the block, followed by the bytes that they point to. No other code
    # holds the strings, so their lengths match the bytes.
    def self.list(kind, strings)
      count = strings.size
      return [nil, 0] if count.zero?

      check_bytes(strings)
      bytes = strings.pack("a*" * count)
      memory = FFI::MemoryPointer.new(kind.size * count + bytes.bytesize, 1, false)
      address = memory.address + kind.size * count
      rows = []
      strings.each_with_index do |string, index|
        yield rows, index, address, string
        address += string.bytesize
      end
      memory.put_bytes(0, rows.pack(kind.format * count)).put_bytes(kind.size * count, bytes)
      [memory, count]
    end

    def self.read_entries(pointer, encoding)
      count = Native.millpond_ick_entries_length(pointer)
      return [] if count.zero?

      rows = Native::IckEntry.rows(Native.millpond_ick_entries_data(pointer), count, STRIDE)
      bytes = Native.millpond_ick_entries_bytes(pointer)
      bytes = bytes.read_bytes(Native.millpond_ick_entries_bytes_length(pointer))
      start = 0
      rows.map do |_, length, score|
        member = bytes.byteslice(start, length)
        start += length
        [text(member, encoding), score]
      end
    end

    def self.wrong_type(argument, expected, value)
      TypeError.new("#{argument} must be #{expected}, not #{value.nil? ? 'nil' : value.class}")
    end

    def self.invalid(message)
      InvalidArgumentError.new(message)
    end
    private_class_method :field, :pair, :score, :read_entries
  end
end
