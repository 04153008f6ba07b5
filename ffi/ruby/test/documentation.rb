# frozen_string_literal: true

# The comments of the gem's files.
module Documentation
  FILES = Dir[File.expand_path("../lib/**/*.rb", __dir__)].sort.freeze

  # @return [Array<Array(String, String)>] where each example is, and its program
  def self.examples
    blocks.flat_map do |place, comment, _|
      comment.scan(/^@example.*\n((?:  .*\n|\n)*)/).map do |(program)|
        [place, program.gsub(/^  /, "")]
      end
    end
  end

  # @return [Array<Array(String, String, String)>] where each public method is, its comment and its
  #   signature
  def self.methods
    FILES.flat_map do |file|
      hidden = false
      private_module = File.read(file).match?(/# @api private\n  (?:  )?(?:module|class)/)
      blocks_of(file, with_bare: true).filter_map do |place, comment, code|
        hidden = true if code.strip == "private"
        hidden = false if code.match?(/^\s*(class|module) /)
        next if hidden || private_module || !code.match?(/^\s*(def|attr_\w+) /)

        [place, code.match?(/attr_/) ? "#{comment}@example" : comment, code.strip]
      end
    end
  end

  def self.blocks
    FILES.flat_map { |file| blocks_of(file, with_bare: false) }
  end

  # Where each comment is, the comment, and the line of code after it; also such lines without.
  def self.blocks_of(file, with_bare:)
    found = []
    comment = +""
    File.readlines(file).each_with_index do |line, index|
      text = line.strip
      if text.start_with?("#")
        comment << text.sub(/\A# ?/, "") << "\n"
        next
      end
      found << ["#{File.basename(file)}:#{index + 1}", comment, line] if with_bare || !comment.empty?
      comment = +""
    end
    found
  end
  private_class_method :blocks, :blocks_of
end
