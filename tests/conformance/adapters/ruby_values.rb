# frozen_string_literal: true

require "json"

# Ruby, or the gem, cannot express this.
class Unsupported < StandardError
end

# What both adapters for Ruby do: one JSON request per line in, one JSON response per line out.
module Values
  NUMBERS = { "inf" => Float::INFINITY, "-inf" => -Float::INFINITY, "nan" => Float::NAN }.freeze

  # Handles all requests, one after the other.
  def self.serve(session)
    $stdin.each_line do |line|
      request = JSON.parse(line)
      response =
        begin
          session.respond(request)
        rescue Unsupported => why
          { unsupported: why.message }
        end
      puts JSON.generate(response.merge(id: request["id"]))
      $stdout.flush
    end
    session.close
  end

  # A value of a request as Ruby has it.
  def decoded(value)
    case value
    when Array then value.map { |item| decoded(item) }
    when Hash then value.size == 1 ? labelled(*value.first) : record(value)
    else value
    end
  end

  # A value of a response as JSON has it.
  def encoded(value)
    case value
    when String
      text = value.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : { "b64" => [value].pack("m0") }
    when Float then value.finite? ? value : { "float" => NUMBERS.key(value) }
    when Array then value.map { |item| encoded(item) }
    when Hash
      shown = value.transform_values { |item| encoded(item) }
      value.keys.all?(String) ? shown.to_a : shown
    when nil, true, false, Numeric then value
    when Symbol then value.to_s
    else encoded(parts(value))
    end
  end

  private

  def labelled(label, text)
    case label
    when "utf8" then text.b
    when "b64" then text.unpack1("m")
    when "float" then NUMBERS.fetch(text.downcase)
    when "int" then Integer(text)
    when "rational" then Rational(text)
    # A text where a number belongs.
    when "string" then text
    when "symbol" then text.to_sym
    else raise Unsupported, "this adapter knows no #{label}"
    end
  end
end
