-- SPDX-License-Identifier: Apache-2.0
-- For wrk: changes flags as fast as the server answers.
local names = { "new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance" }
local count = 0

request = function()
    count = count + 1
    local body = string.format('{"enabled": %s, "rollout": %d}', tostring(count % 2 == 0), count % 101)
    return wrk.format("PUT", "/flags/" .. names[count % #names + 1], nil, body)
end
