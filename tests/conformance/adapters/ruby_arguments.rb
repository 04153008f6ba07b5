# frozen_string_literal: true

# What a request has for the parameters of a method, and the fields of a result.
module Arguments
  # What a request has by its fields, and the gem by a type.
  RECORDS = [Millpond::Receipt, Millpond::TaskId, Millpond::DocId, Millpond::Position, Millpond::DocPosition,
             Millpond::EventReceipt, Millpond::EventPosition, Millpond::FieldPosition].freeze
  # What an event to publish has.
  EVENT = Millpond::EventQueue.instance_method(:publish).parameters
  # What a schedule has.
  SCHEDULE = Millpond::EventQueue.instance_method(:put_schedule).parameters
  # The fields of results that are times, or nil.
  TIMES = %i[remaining next_in took].freeze
  # Texts that the gem has as symbols.
  SYMBOLS = %i[set track_keys if_exists state missed overlap].freeze

  private

  # Calls a method, or makes an object of a class, with what is given.
  def made(on, name, given, &block)
    method = name == :new ? on.instance_method(:initialize) : on.method(name)
    # A store takes the same settings as a modification.
    method = Millpond::Modification.instance_method(name) if method.parameters.any? { |kind, _| kind == :keyrest }
    parameters = method.parameters.reject { |kind, _| kind == :block }
    given = given.to_h { |argument, value| argument(parameters, argument, value) }
    positional = parameters.select { |kind, _| %i[req opt].include?(kind) }.map(&:last)
    rest = given.except(*positional)
    unknown = rest.keys - parameters.map(&:last)
    raise Unsupported, "the call #{name} takes no #{unknown.first}" unless unknown.empty?

    on.public_send(name, *positional.take_while { |one| given.key?(one) }.map { |one| given[one] }, **rest, &block)
  end

  # An argument as Ruby has it: its name there, and its value.
  def argument(parameters, name, value)
    return [:modification, modification(value)] if name == "modification"
    return [:pairs, pairs(value)] if name == "pairs"
    lists = { "events" => EVENT, "schedules" => SCHEDULE }
    return [name.to_sym, value.map { |one| one.to_h { |of, part| argument(lists[name], of, part) } }] if lists[name]

    names = parameters.map(&:last)
    name = "delay_ms" if name == "after_ms" && !names.include?(:after)
    name = "json" if %w[value content].include?(name) && names.include?(:json)
    value = decoded(value)
    name, value = name.delete_suffix("_ms"), seconds(value) if name.end_with?("_ms") && !names.include?(name.to_sym)
    value = value.to_sym if SYMBOLS.include?(name.to_sym) && value.is_a?(String)
    [name.to_sym, value]
  end

  # Seconds, exactly; what is no number is a wrong argument.
  def seconds(milliseconds)
    case milliseconds
    when Integer then milliseconds / 1000r
    when Float then milliseconds / 1000
    else milliseconds
    end
  end

  # Milliseconds of seconds, with microseconds as a fraction.
  def milliseconds(seconds)
    seconds && (seconds * 1000).round(3)
  end

  def pairs(given)
    given.map do |score, member|
      raise Unsupported, "a score of nil is the server's time" if score.nil?
      raise Unsupported, "a Rational is a number like any other" if (score = decoded(score)).is_a?(Rational)

      [score, decoded(member)]
    end
  end

  # The record that has just these fields.
  def record(fields)
    kind = RECORDS.find { |one| one.members.map(&:to_s).sort == fields.keys.sort }
    raise Unsupported, "this adapter knows no record with #{fields.keys.join(', ')}" unless kind

    kind.new(*fields.values_at(*kind.members.map(&:to_s)).map { |field| decoded(field) })
  end

  # The fields of a result by their names.
  def parts(value)
    if value.is_a?(Millpond::EventConfig) || value.is_a?(Millpond::ScheduleInfo)
      return value.to_h.to_h { |name, part| part.is_a?(Float) ? [:"#{name}_ms", (part * 1000).round] : [name, part] }
    end
    if value.is_a?(Struct)
      return value.to_h.to_h { |name, part| TIMES.include?(name) ? [:"#{name}_ms", milliseconds(part)] : [name, part] }
    end

    names = value.class.instance_method(:initialize).parameters.map(&:last)
    found = names.to_h { |name| [name, value.public_send(name)] }
    found[names.include?(:namespace) ? :content : :value] = found.delete(:json) if names.include?(:json)
    found
  end

  # The modification of these lists.
  def modification(lists)
    made = Millpond::Modification.new
    lists.each do |list, entries|
      of_doc = list.start_with?("doc_")
      verb = list.delete_prefix("doc_").delete_suffix("s")
      method = of_doc ? "#{verb}_doc" : verb
      entries.each do |entry|
        case verb
        when "change" then made.public_send(method, of_doc ? doc_change(entry) : change(entry))
        when "insert", "put" then made(made, method, entry)
        else made.public_send(method, decoded(entry))
        end
      end
    end
    made
  end

  def change(entry)
    set = entry["set"] || {}
    set = set.except("no_value").merge("json" => nil) if set["no_value"]
    ends = entry.slice("retry", "retry_or_quarantine", "quarantine")
    changed = made(made(Millpond::Task, :new, entry["task"]), :change, set)
    ends.inject(changed) { |change, (name, told)| change.public_send(name, *told) }
  end

  def doc_change(entry)
    made(made(Millpond::Doc, :new, entry["doc"]), :change, entry["set"] || {})
  end
end
