# frozen_string_literal: true

require_relative "helper"
require_relative "documentation"

# Everything public is documented, and every example that is shown runs.
class DocsTest < MillpondTest
  def setup
    server = own_server
    # What a program finds at Redis.new.
    @url_before = ENV["REDIS_URL"]
    ENV["REDIS_URL"] = server.url
    require "redis/ick"
  end

  def teardown
    ENV["REDIS_URL"] = @url_before
    super
  end

  # Runs a program, in which `expression # => value` tells what the expression before is, and
  # `# raises Kind` what it raises. The value may stand on a line of its own.
  def run_example(program, place)
    context = Object.new.instance_eval { binding }
    checked = 0
    source = +""
    program.each_line.with_index(1) do |line, number|
      code, mark, expected = line.chomp.partition(/# (?:=>|raises) /)
      source << code << "\n"
      next if mark.empty?

      checked += 1
      where = "#{place}, line #{number} of the example"
      if mark.include?("raises")
        kind = Object.const_get(expected)
        assert_raises(kind, where) { context.eval(source, place) }
      else
        assert_equal expected, context.eval(source, place).inspect, where
      end
      source = +""
    end
    context.eval(source, place)
    checked
  end

  def test_examples
    shown = Documentation.examples
    assert_operator shown.size, :>, 40
    checked = shown.sum do |place, program|
      Redis.new.flushall
      run_example(program, place)
    end
    assert_operator checked, :>, 50
  end

  def test_everything_public_is_documented
    undocumented = Documentation.methods.flat_map do |place, comment, signature|
      next [] if comment.include?("@api private")

      wanted = signature.start_with?("def initialize") ? ["@example"] : ["@return", "@example"]
      wanted << "@param" if signature.match?(/\(.*\w/) && !comment.include?("(see")
      wanted.reject { |tag| comment.include?(tag) }.map { |tag| "#{place} has no #{tag}" }
    end
    assert_empty undocumented
  end

  # As YARD finds it, which warns of parameters that are not there.
  def test_yard_finds_nothing_undocumented
    public = '!(@api && @api.text == "private") && !namespace.has_tag?(:api)'
    output, status = Open3.capture2e("yard", "stats", "--no-cache", "--no-save", "--list-undoc", "--query", public,
                                     "lib/**/*.rb", chdir: GEM_ROOT)
    assert_predicate status, :success?, output
    assert_includes output, "100.00% documented"
    refute_includes output, "[warn]"
  end

  def test_readme
    programs = File.read(File.join(GEM_ROOT, "README.md")).scan(/```ruby\n(.*?)```/m).flatten
    runnable = programs.reject { |program| program.start_with?("gem ") }
    assert_operator runnable.size, :>=, 4
    Redis.new.flushall
    assert_operator runnable.sum { |program| run_example(program, "README.md") }, :>=, 10
  end
end
