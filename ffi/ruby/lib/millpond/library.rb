# frozen_string_literal: true

require "ffi"

module Millpond
  # Finds libmillpond: the file that MILLPOND_LIBRARY names, or the one in this gem, or the
  # system's. It starts no program, so a prefix that the loader does not search has to be named.
  #
  # @api private
  module Library
    # After `rake build` one, and in a release one for each C library, of which only the right one loads.
    CARRIED = ["", "gnu", "musl"].map { |libc| File.join(__dir__, libc, "libmillpond.#{FFI::Platform::LIBSUFFIX}") }.freeze
    # Names for the loader's own search, and for /usr/local/lib, where ffi looks next.
    ON_SYSTEM = ["libmillpond.so.1", "libmillpond.#{FFI::Platform::LIBSUFFIX}"].freeze

    # @return [Array<String>] the loader's names of the library, best first
    def self.candidates
      named = ENV["MILLPOND_LIBRARY"]
      return [named] if named && !named.empty?

      carried = CARRIED.select { |file| File.exist?(file) }
      carried.empty? ? ON_SYSTEM : carried
    end

    # Loads the library into a module that extends FFI::Library.
    #
    # @raise [LoadError] if there is none, or one with another ABI
    def self.load_into(native, abi_version)
      tried = candidates
      begin
        native.ffi_lib(tried)
      rescue LoadError => failure
        raise LoadError, "millpond: #{reason(tried)} (tried #{tried.join(', ')}): #{failure.message}"
      end
      check_abi(native, abi_version)
    end

    def self.reason(tried)
      return "cannot load libmillpond" unless tried.equal?(ON_SYSTEM)

      "no libmillpond for #{FFI::Platform::ARCH}-#{FFI::Platform::OS} in this gem; install it from the release's C " \
        "archive, or name it in MILLPOND_LIBRARY"
    end
    private_class_method :reason

    def self.check_abi(native, abi_version)
      native.attach_function :millpond_abi_version, [], :uint32
      found = native.millpond_abi_version
      return if found == abi_version

      raise LoadError, "millpond: #{native.ffi_libraries.first.name} has the ABI version #{found}, " \
                       "but this gem needs version #{abi_version}; install the two together"
    rescue FFI::NotFoundError
      raise LoadError, "millpond: #{native.ffi_libraries.first.name} is not libmillpond"
    end
    private_class_method :check_abi
  end
end
