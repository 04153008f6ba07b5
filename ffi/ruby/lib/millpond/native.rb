# frozen_string_literal: true

require "ffi"
require "millpond/library"

module Millpond
  # The structures, handles and functions of libmillpond, as millpond.h declares them.
  #
  # @api private
  module Native
    extend FFI::Library
    Library.load_into(self, 1)

    # The value of an optional number that is not set.
    NOT_SET = -(1 << 63)

    # A structure of the library, which can also be read and written with String#unpack and
    # Array#pack: a text in it is an address and a length.
    class Structure < FFI::Struct
      LETTERS = { pointer: "J", string: "J", size_t: "J", uint64: "Q", int64: "q", uint32: "L", int: "l",
                  double: "d", bool: "C" }.freeze
      private_constant :LETTERS

      class << self
        # @return [String] its format for String#unpack and Array#pack
        attr_reader :format

        # @return [Hash{Symbol => Symbol, Class}] the types of its fields, by name
        attr_reader :fields

        # @return [Boolean] whether it begins with its size, so that fields can be added to it
        attr_reader :growing
        alias growing? growing

        # The values of a growing structure's fields, in order; a field that is not named has its
        # default.
        #
        # @param named [Hash] values by field name; nil for no text
        # @return [Array]
        def row(named)
          @empty ||= members.zip(initial.values.map { |value| value unless value.is_a?(FFI::Struct) }).to_h
          @empty.merge(named).values
        end

        # A structure with the defaults of all its fields, for which the library is asked once.
        def initial
          @defaults ||= new.tap { |one| fill(one) }.pointer.read_bytes(size).freeze
          new.tap { |structure| structure.pointer.put_bytes(0, @defaults) }
        end

        # The function for a change also takes what is changed; here it gets nil.
        def fill(structure)
          Native.public_send(@init, structure, size, *[nil] * (Native.counts.fetch(@init) - 2))
        end
        private :fill

        # The structures of an array, each as a list of its numbers. A newer library may have more
        # fields.
        #
        # @param stride [Integer] bytes from one to the next
        def rows(pointer, count, stride = size)
          return [] if pointer.null? || count.zero?

          format = stride == size ? @format : "#{@format}x#{stride - size}"
          numbers = pointer.read_bytes(stride * count).unpack(format * count)
          count == 1 ? [numbers] : numbers.each_slice(numbers.size / count)
        end

        # @api private
        def describe(name, fields)
          layout(fields)
          @fields = fields
          @growing = fields.key?(:size) && offset_of(:size).zero?
          @init = :"millpond_#{name}_init"
          at = 0
          letters = fields.map do |name, type|
            gap = offset_of(name) - at
            inner = type.is_a?(Class)
            at += gap + (inner ? type.size : FFI.type_size(type))
            "x#{gap}#{inner ? type.format : LETTERS.fetch(type)}"
          end
          @format = "#{letters.join}x#{size - at}".gsub("x0", "").freeze
        end
      end

      # Sets a text, which lives as long as this structure.
      def put_text(name, text)
        memory = FFI::MemoryPointer.new(text.bytesize + 1).put_bytes(0, text)
        (@texts ||= []) << memory
        self[name][:data] = memory
        self[name][:length] = text.bytesize
      end
    end

    class << self
      # The number of arguments of each function.
      def counts
        @counts ||= {}
      end

      private

      def structure(name, **fields)
        const_set(camel(name), Class.new(Structure)).describe(name, fields)
      end

      # Handles that the garbage collector frees. In the child of a fork that is harmless: the
      # library leaves alone what belongs to the parent.
      def handles(*names)
        names.each do |name|
          free = :"millpond_#{name}_free"
          kind = Class.new(FFI::AutoPointer)
          kind.define_singleton_method(:release) { |pointer| Native.public_send(free, pointer) }
          const_set(camel(name), kind)
        end
      end

      # Functions that may wait are `blocking`: they let other threads run while they wait.
      def function(name, arguments, result, **options)
        counts[:"millpond_#{name}"] = arguments.size
        attach_function(:"millpond_#{name}", arguments, result, **options)
      end

      def camel(name)
        name.to_s.split("_").map(&:capitalize).join
      end
    end
  end
end

require "millpond/generated/native"
