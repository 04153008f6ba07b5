# frozen_string_literal: true

require "fileutils"
require_relative "helper"

# Where the library is found, and the error where it is not.
class LibraryTest < MillpondTest
  PROGRAM = "begin; require 'millpond'; print Millpond.library_version; rescue LoadError => e; print e.message; end"

  # Loads a copy of the gem's files, with a library inside or none, or with one for each C library.
  def load_copy(library: nil, libraries: { "" => library }.compact, env: {})
    Dir.mktmpdir do |folder|
      FileUtils.cp_r(File.join(GEM_ROOT, "lib"), folder)
      carried = "libmillpond.#{FFI::Platform::LIBSUFFIX}"
      FileUtils.rm_f(File.join(folder, "lib/millpond", carried))
      libraries.each do |libc, file|
        place = File.join(folder, "lib/millpond", libc)
        FileUtils.mkdir_p(place)
        FileUtils.cp(file, File.join(place, carried))
      end
      env = { "MILLPOND_LIBRARY" => nil }.merge(env)
      output, = Open3.capture2e(env, RbConfig.ruby, "-I", "#{folder}/lib", "-e", PROGRAM)
      output
    end
  end

  # A library that reports another version.
  def with_library_of_version(version)
    Dir.mktmpdir do |folder|
      File.write("#{folder}/a.c", "unsigned millpond_abi_version(void) { return #{version}; }") if version
      File.write("#{folder}/a.c", "int nothing;") unless version
      system("cc", "-shared", "-fPIC", "-o", "#{folder}/a.so", "#{folder}/a.c", exception: true)
      yield "#{folder}/a.so"
    end
  end

  def test_the_one_that_the_environment_names
    assert_equal Millpond.library_version, load_copy(env: { "MILLPOND_LIBRARY" => LIBRARY_PATH })
  end

  def test_the_one_that_the_gem_carries
    assert_equal Millpond.library_version, load_copy(library: LIBRARY_PATH)
  end

  def test_the_one_of_several_that_loads
    assert_equal Millpond.library_version, load_copy(libraries: { "gnu" => __FILE__, "musl" => LIBRARY_PATH })
  end

  def test_the_systems
    Dir.mktmpdir do |folder|
      FileUtils.cp(LIBRARY_PATH, "#{folder}/libmillpond.so.1")
      assert_equal Millpond.library_version, load_copy(env: { "LD_LIBRARY_PATH" => folder })
    end
  end

  def test_loading_starts_no_program
    Dir.mktmpdir do |folder|
      FileUtils.cp(LIBRARY_PATH, "#{folder}/libmillpond.so.1")
      env = { "LD_LIBRARY_PATH" => folder, "MILLPOND_LIBRARY" => nil }
      program = "%i[spawn fork system ` exec].each { |name| define_method(name) { |*| abort name.to_s } }; #{PROGRAM}"
      output, = run_ruby("-e", program, env: env)
      assert_equal Millpond.library_version, output
    end
  end

  # ffi rescues all exceptions where it asks for the name of a structure, and where it loads its extension.
  def test_sigterm_while_it_loads_ends_the_program
    asked = "require 'ffi'; FFI::Struct.singleton_class.prepend(Module.new do " \
            "define_method(:name) { Process.kill(:TERM, $$); super() }; end)"
    loads = "module Kernel; alias load_it require; define_method(:require) do |path| " \
            "Process.kill(:TERM, $$) if path.end_with?('/ffi_c'); load_it(path); end; end"
    [asked, loads].each do |hook|
      output, status = run_ruby("-e", "#{hook}; require 'millpond'; puts 'goes on'")
      assert_equal 15, status.termsig, output
      refute_includes output, "goes on"
    end
  end

  def test_none
    told = load_copy
    assert_match(/\Amillpond: no libmillpond for \w+-linux in this gem; .* MILLPOND_LIBRARY \(tried libmillpond.so.1/, told)
    named = load_copy(env: { "MILLPOND_LIBRARY" => "/nowhere/a.so" })
    assert_match(%r{\Amillpond: cannot load libmillpond \(tried /nowhere/a.so\)}, named)
  end

  def test_one_of_another_version
    with_library_of_version(99) do |library|
      told = load_copy(env: { "MILLPOND_LIBRARY" => library })
      assert_equal "millpond: #{library} has the ABI version 99, but this gem needs version 1; " \
                   "install the two together", told
    end
  end

  def test_one_that_is_something_else
    with_library_of_version(nil) do |library|
      assert_equal "millpond: #{library} is not libmillpond", load_copy(env: { "MILLPOND_LIBRARY" => library })
    end
  end

  # What is packed and cut has the size that the library has, also with fields that it does not know yet.
  def test_the_formats_of_structures
    kinds = Millpond::Native.constants.map { |name| Millpond::Native.const_get(name) }
    kinds = kinds.grep(Class).select { |kind| kind < Millpond::Native::Structure }
    assert_operator kinds.size, :>, 30
    kinds.each do |kind|
      numbers = Array.new(kind.format.scan(/[A-Zdlq]/).size, 1)
      assert_equal kind.size, numbers.pack(kind.format).bytesize, kind.name
      memory = FFI::MemoryPointer.new(kind.size + 8, 3)
      3.times { |index| memory.put_bytes(index * (kind.size + 8), numbers.pack(kind.format)) }
      assert_equal [numbers] * 3, kind.rows(memory, 3, kind.size + 8).to_a, kind.name
    end
  end
end
