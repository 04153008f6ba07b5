# frozen_string_literal: true

module Millpond
  # The version of this gem. The library's own is {Millpond.library_version}.
  VERSION = "0.1.0"
end
