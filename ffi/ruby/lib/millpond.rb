# frozen_string_literal: true

require "millpond/version"
require "millpond/errors"
require "millpond/client"
require "millpond/script"

# Queues for programs in several languages that share one Redis, or no server at all. The work is
# done by libmillpond; see {Millpond.connect}, {Ick}, {ShuffleQueue}, {TaskStore} and {Error}.
module Millpond
  # The version of libmillpond.
  #
  # @return [String]
  #
  # @example
  #   Millpond.library_version # => "0.1.0"
  def self.library_version
    Native.millpond_version
  end
end
