# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # Finds the part of a value that JSON cannot represent, and its path. The json gem writes an object of any class as
  # the string that its `to_s` returns. The gem's `strict` option refuses such objects, but the json of Ruby 3.1 lacks
  # it, its versions differ in the keys and Symbols that they accept, and its errors have no path.
  #
  # @api private
  class JsonFault
    # How deeply arrays and objects can be nested in a value of a store.
    DEPTH_MAX = 100
    # Longer keys are truncated in messages.
    KEY_MAX = 40
    # The class of any object, since a BasicObject has no such method.
    CLASS = Kernel.instance_method(:class)
    KEY_NOT_TEXT = "has a key that is not UTF-8"
    private_constant :CLASS, :KEY_MAX, :KEY_NOT_TEXT

    # Refuses a value that JSON cannot represent.
    def self.check(argument, value)
      fault = of(value, 1)
      raise fault.error(argument) if fault
    end

    # The path is built on the way back, so a value without a fault allocates no strings.
    #
    # @return [JsonFault, nil]
    def self.of(value, depth)
      case value
      when String then not_text("is not UTF-8") unless value.ascii_only? || text?(value)
      when Integer, true, false, nil then nil
      when Hash then depth > DEPTH_MAX ? too_deep : in_hash(value, depth + 1)
      when Array then depth > DEPTH_MAX ? too_deep : in_array(value, depth + 1)
      when Float then new(InvalidArgumentError, "is #{value}, which JSON does not have") unless value.finite?
      when Symbol then not_text("is not UTF-8") unless symbol?(value)
      else new(TypeError, "is #{a(value)}, which JSON does not have")
      end
    end

    def self.in_hash(hash, depth)
      hash.each do |key, value|
        fault = of_key(key) || of(value, depth)&.under(key)
        return fault if fault
      end
      nil
    end

    def self.in_array(array, depth)
      array.each_with_index do |value, index|
        fault = of(value, depth)
        return fault.under(index) if fault
      end
      nil
    end

    def self.of_key(key)
      case key
      when String then not_text(KEY_NOT_TEXT) unless key.ascii_only? || text?(key)
      when Symbol then not_text(KEY_NOT_TEXT) unless symbol?(key)
      when Integer then nil # is written as its digits, as in Python
      else new(TypeError, "has a key that is #{a(key)}; keys of JSON are Strings")
      end
    end

    # Whether a String is UTF-8 or can be converted to it.
    def self.text?(string)
      encoding = string.encoding
      return string.valid_encoding? if encoding == Encoding::UTF_8 || encoding == Encoding::US_ASCII

      string.encode(Encoding::UTF_8)
      true
    rescue EncodingError
      false
    end

    # A Symbol is valid in its encoding, which is US-ASCII for most.
    def self.symbol?(symbol)
      symbol.encoding == Encoding::US_ASCII || text?(symbol.to_s)
    end

    def self.not_text(reason)
      new(InvalidArgumentError, reason)
    end

    def self.too_deep
      new(InvalidArgumentError, nil)
    end

    def self.a(value)
      kind = CLASS.bind_call(value).to_s
      "#{kind.match?(/\A[AEIO]/) ? 'an' : 'a'} #{kind}"
    end
    private_class_method :of, :in_hash, :in_array, :of_key, :text?, :symbol?, :not_text, :too_deep, :a

    # @param reason [String, nil] what is wrong at the path; nil for a value that is nested too deeply, whose path
    #   would not help
    def initialize(kind, reason)
      @kind = kind
      @reason = reason
      @path = []
    end

    # @return [self] seen from the Hash or the Array around it
    def under(key)
      @path << key
      self
    end

    # @return [Exception]
    def error(argument)
      return @kind.new("#{argument} is nested more than #{DEPTH_MAX} deep") unless @reason

      @kind.new("#{argument}#{@path.reverse.map { |key| step(key) }.join} #{@reason}")
    end

    private

    def step(key)
      return "[#{key}]" if key.is_a?(Integer)

      key = key.to_s.encode(Encoding::UTF_8)
      key = "#{key[0, KEY_MAX]}…" if key.size > KEY_MAX
      key.match?(/\A[[:alpha:]_][[:alnum:]_]*\z/) ? ".#{key}" : "[#{key.inspect}]"
    end
  end
end
