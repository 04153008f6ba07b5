# frozen_string_literal: true

require "fileutils"
require_relative "helper"

# The gem is built, installed into a clean place and used there.
class PackageTest < MillpondTest
  def run!(*command, chdir:, env: {})
    env = { "RUBYLIB" => nil, "RUBYOPT" => nil }.merge(env)
    output, status = Open3.capture2e(env, *command, chdir: chdir)
    assert_predicate status, :success?, output
    output
  end

  def with_copy
    Dir.mktmpdir do |folder|
      copy = File.join(folder, "copy")
      FileUtils.mkdir_p(copy)
      kept = %w[lib redis-ick sig README.md LICENSE-MIT LICENSE-APACHE Rakefile millpond.gemspec millpond-redis-ick.gemspec]
      kept.each { |name| FileUtils.cp_r(File.join(GEM_ROOT, name), copy, dereference_root: true) }
      FileUtils.rm_f(Dir[File.join(copy, "lib/millpond/libmillpond.*")])
      yield copy, File.join(folder, "home")
    end
  end

  # Installs gems and runs a program that sees only these and the system's.
  def use(gems, home, program, env = {})
    run!("gem", "install", "--local", "--ignore-dependencies", "--no-document", "--install-dir", home, *gems,
         chdir: home)
    env = { "GEM_HOME" => home, "GEM_PATH" => ([home] + Gem.path).join(":"), "MILLPOND_LIBRARY" => nil }.merge(env)
    run!(RbConfig.ruby, "-e", program, Servers.shared.url, chdir: home, env: env)
  end

  PROGRAM = <<~'RUBY'
    require "millpond"
    require "redis/ick"
    Millpond.connect(ARGV[0]) do |client|
      ick = client.ick("package")
      ick.delete
      ick.add(["a.txt"])
      puts Redis::Ick.new(Redis.new(url: ARGV[0])).ickstats("package")["pset_size"]
    end
    puts Millpond::Native.ffi_libraries.first.name, $LOADED_FEATURES.grep(/millpond\.rb/)
  RUBY

  def test_a_gem_that_carries_the_library
    with_copy do |copy, home|
      FileUtils.mkdir_p(home)
      run!("rake", "build", chdir: copy, env: { "MILLPOND_LIBRARY" => LIBRARY_PATH })
      gem, = Dir[File.join(copy, "pkg/millpond-#{Millpond::VERSION}-*.gem")]
      result, library, loaded = use(gem, home, PROGRAM).split("\n")
      assert_equal "1", result
      [library, loaded].each { |file| assert_operator File.realpath(file), :start_with?, File.realpath(home) }
      %w[README.md sig/millpond.rbs sig/manifest.yaml lib/millpond/generated/records.rb].each do |file|
        refute_empty Dir[File.join(home, "gems/millpond-*", file)], file
      end
      %w[LICENSE-MIT LICENSE-APACHE].each do |name|
        license, = Dir[File.join(home, "gems/millpond-*", name)]
        assert_equal File.read(File.join(GEM_ROOT, "../..", name)), File.read(license)
      end
      assert_empty Dir[File.join(home, "gems/millpond-*/test")]
    end
  end

  # The page's line is enough: Bundler loads it, and what it needs.
  def test_a_gemfile_with_one_line_in_place_of_redis_ick
    with_copy do |copy, home|
      FileUtils.mkdir_p(home)
      run!("rake", "build", chdir: copy, env: { "MILLPOND_LIBRARY" => LIBRARY_PATH })
      page = File.read(File.join(GEM_ROOT, "README.md"))
      line = page[/^(gem ".+?") # was: gem "redis-ick"$/, 1]
      File.write(File.join(home, "Gemfile"), "source 'https://rubygems.org'\n#{line}\n")
      program = <<~'RUBY'
        Bundler.require
        ick = Redis::Ick.new(Redis.new(url: ARGV[0]))
        ick.ickdel("bundled")
        ick.ickadd("bundled", 12.8, "foo")
        p ick.ickreserve("bundled", 10)
      RUBY
      gems = Dir[File.join(copy, "pkg/*.gem")]
      bundled = use(gems, home, %(require "bundler/setup"\n#{program}), "BUNDLE_GEMFILE" => File.join(home, "Gemfile"))
      assert_equal %([["foo", 12.8]]\n), bundled
    end
  end

  def test_a_gem_that_uses_the_systems_library
    with_copy do |copy, home|
      FileUtils.mkdir_p(home)
      run!("gem", "build", "--strict", "millpond.gemspec", chdir: copy)
      FileUtils.cp(LIBRARY_PATH, File.join(home, "libmillpond.so.1"))
      gem = File.join(copy, "millpond-#{Millpond::VERSION}.gem")
      result, library, = use(gem, home, PROGRAM, "LD_LIBRARY_PATH" => home).split("\n")
      assert_equal %w[1 libmillpond.so.1], [result, library]
    end
  end
end
