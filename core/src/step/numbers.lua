-- Numbers that a script gets as text, and the error for an invalid one.

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end

-- The value of a text, if it is a whole number in canonical form and at most `max`.
local function whole(text, max)
  if not text or not (text == '0' or string.find(text, '^[1-9]%d*$')) or #text > 16 then return nil end
  local value = tonumber(text)
  return value <= max and value or nil
end
