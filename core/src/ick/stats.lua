-- Sizes and score ranges of both sets.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset
-- returns nil if there is no Ick, else
--   {version, pset size, cset size, pset min, pset max, cset min, cset max}, nil for an empty set's scores
-- errors WRONGTYPE, INCOMPATIBLE_VERSION
local failure, flag, pset_size, cset_size = check()
if failure then return failure end
if not flag then return false end

local function score(set, rank)
  return redis.call('ZRANGE', set, rank, rank, 'WITHSCORES')[2] or false
end
return {flag, pset_size, cset_size, score(PSET, 0), score(PSET, -1), score(CSET, 0), score(CSET, -1)}
