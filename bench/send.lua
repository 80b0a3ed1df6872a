-- Has wrk send the requests of a file, separated by the byte 30, over and over. Its last line of output is JSON.
local requests, position = {}, 0

function init(arguments)
  local file = io.open(arguments[1], "rb")
  for request in file:read("*a"):gmatch("[^\30]+") do requests[#requests + 1] = request end
  file:close()
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary, latency)
  local errors = summary.errors
  local wrong = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('\n{"requests":%d,"wrong":%d,"bytes":%d,"p50":%d,"p99":%d}\n',
    summary.requests, wrong, summary.bytes, latency:percentile(50), latency:percentile(99)))
end
