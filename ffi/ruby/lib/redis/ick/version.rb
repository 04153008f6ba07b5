# frozen_string_literal: true

class Redis
  class Ick
    # The version of the gem redis-ick that this replaces.
    VERSION = "0.1.4"
  end
end
