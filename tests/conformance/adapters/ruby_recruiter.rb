# frozen_string_literal: true

# A recruiter, and what its handlers and its hook have noted during the calls that are made.
class Noted
  # The calls that it makes itself.
  OWN = %w[install enlist run].freeze

  attr_reader :recruiter

  # `make` makes a call with what a request has for its parameters, and `perform` makes another request.
  def initialize(recruiter, make, perform)
    @recruiter = recruiter
    @make = make
    @perform = perform
    @slices = []
    @errors = []
    recruiter.on_error do |job, error|
      name = error.is_a?(Millpond::Error) ? error.name : nil
      @errors << { job: job, name: name, message: error.message }
    end
  end

  def install(given)
    turns = given["handler"]
    count = 0
    @make.call(@recruiter, "install", given.except("handler")) do |slice|
      turn = turns[[count, turns.size - 1].min]
      count += 1
      take_turn(slice, turn)
    end
  end

  def enlist(given)
    rest = given.except("times")
    duties = nil
    notes = noted { duties = Array.new(given.fetch("times", 1)) { @make.call(@recruiter, "enlist", rest) } }
    { duties: duties, **notes }
  end

  def run(given)
    noted { @make.call(@recruiter, "run", given) }
  end

  private

  # Does a slice.
  def take_turn(slice, turn)
    sleep(turn["sleep_ms"] / 1000.0) if turn["sleep_ms"]
    ran = (turn["run"] || []).map { |request| @perform.call(request) }
    slice.more if turn["more"]
    slice.abort if turn["abort"]
    times = { budget_ms: slice.budget, remaining_ms: slice.remaining }
    times = times.transform_values { |time| (time * 1000).round(3) }
    @slices << { job: slice.job, **times, is_over: slice.over?, fence: slice.fence, is_lost: slice.lost?, ran: ran }
    raise turn["raises"] if turn.key?("raises")

    turn["returns"]
  end

  # Takes what is noted during the block: a call in a slice leaves what was noted before it.
  def noted
    slices, errors = @slices.size, @errors.size
    yield
    { slices: @slices.slice!(slices..), errors: @errors.slice!(errors..) }
  end
end
