-- Numbers that a script takes as text, and its refusal of what is none.

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end

-- The number that a text is, if it is a whole one in canonical form and no more than `max`.
local function whole(text, max)
  if not text or not (text == '0' or string.find(text, '^[1-9]%d*$')) or #text > 16 then return nil end
  local value = tonumber(text)
  return value <= max and value or nil
end
