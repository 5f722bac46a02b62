-- For wrk: ask and tell in turn, over as many streams as BENCH_STREAMS says. A ticket that came back is told next.
-- Where BENCH_KEEPS is set, each of wrk's threads, and so each connection, keeps to one of the streams.
local streams = tonumber(os.getenv("BENCH_STREAMS") or "1")
local keeps = os.getenv("BENCH_KEEPS")
local headers = {["Content-Type"] = "application/json", ["Host"] = "127.0.0.1"}
local asks, waiting, number = {}, {}, 0

local function candidates(n)
  local offered = {}
  for i = 0, 9 do
    local features = {}
    for j = 0, 9 do
      features[#features + 1] = string.format("%.16g", ((n * 31 + i * 7 + j * 3) % 97) / 97)
    end
    offered[#offered + 1] = string.format('{"id":"c%d","features":[%s]}', i, table.concat(features, ","))
  end
  return '{"candidates":[' .. table.concat(offered, ",") .. "]}"
end

local threads = 0
function setup(thread)
  thread:set("own", threads % streams)
  threads = threads + 1
end

function init(args)
  for n = 0, 63 do
    local stream = keeps and own or n % streams
    local named = {["X-Request-Id"] = string.format("%d", stream)}
    for name, value in pairs(headers) do named[name] = value end
    asks[n] = wrk.format("POST", "/v1/streams/bench" .. named["X-Request-Id"] .. "/ask", named, candidates(n))
  end
end

function request()
  local ticket = table.remove(waiting)
  if ticket then
    local path = "/v1/streams/bench" .. ticket[1] .. "/tickets/" .. ticket[2] .. "/tell"
    return wrk.format("POST", path, headers, '{"winner":"left"}')
  end
  number = number + 1
  return asks[number % 64]
end

-- The answer does not say its stream; the id of the request, which comes back with it, does.
function response(status, got, body)
  if status == 201 then
    waiting[#waiting + 1] = {got["x-request-id"] or "0", string.match(body, '"ticket":"([^"]+)"')}
  end
end
