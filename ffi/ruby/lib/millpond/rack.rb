# frozen_string_literal: true

require "millpond"
require "millpond/rack_body"

module Millpond
  # For applications on Rack. Required on its own, as `millpond/rack`; it does not need the gem rack.
  module Rack
    # Enlists when a response has been sent: the client does not wait for the slice.
    #
    # It uses `rack.response_finished` of Rack 3 if the server has that, or else Puma's `rack.after_reply`. On other
    # servers it enlists when the body of the response is closed, which is after it has been written.
    #
    # @example
    #   require "millpond/rack"
    #
    #   site = Millpond.connect("memory:").recruiter("site")
    #   site.install("mail", share: 1) { puts "a mail" }
    #   application = ->(env) { [200, {}, ["hi"]] }
    #   # In config.ru: use Millpond::Rack::AfterResponse, site, budget: 0.05
    #   application = Millpond::Rack::AfterResponse.new(application, site, budget: 0.05)
    #   status, _, body = application.call({})
    #   body.each { |part| part }
    #   body.close # the server does it
    #   status # => 200
    class AfterResponse
      # @param application [#call] the application
      # @param recruiter [Recruiter] the recruiter, in which jobs are installed
      # @param budget [Numeric, nil] the most time for a slice, in seconds; by default as long as its job says
      # @raise [InvalidArgumentError, TypeError] for arguments of other types, and a time below 0
      #
      # @example
      #   require "millpond/rack"
      #
      #   site = Millpond.connect("memory:").recruiter("site")
      #   Millpond::Rack::AfterResponse.new(->(env) { [204, {}, []] }, site).call({}).first # => 204
      def initialize(application, recruiter, budget: nil)
        Convert.one_of("recruiter", recruiter, Recruiter)
        Convert.milliseconds("budget", budget) unless budget.nil?
        @application = application
        # Servers pass Rack's arguments, or none.
        @enlist = ->(*) { recruiter.enlist(budget: budget) }
      end

      # Calls the application.
      #
      # @param env [Hash] the request
      # @return [Array(Integer, Hash, Object)] the response of the application
      #
      # @example
      #   require "millpond/rack"
      #
      #   site = Millpond.connect("memory:").recruiter("site")
      #   application = Millpond::Rack::AfterResponse.new(->(env) { [204, {}, []] }, site)
      #   env = { "rack.response_finished" => [] }
      #   application.call(env).first # => 204
      #   env["rack.response_finished"].each { |call| call.call(env, 204, {}, nil) } # the server does it
      def call(env)
        after = env["rack.response_finished"] || env["rack.after_reply"]
        after << @enlist if after
        response = @application.call(env)
        return response if after

        status, headers, body = response
        [status, headers, RackBody.new(body, @enlist)]
      end
    end
  end
end
