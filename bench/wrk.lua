-- For wrk: sends POST requests, each with the next token of a file, and ends with a line of JSON.
-- Usage: wrk … -s bench/wrk.lua <url> -- <file with one token on each line>
local tokens, nextToken = {}, 0

function init(args)
  for token in io.lines(args[1]) do tokens[#tokens + 1] = 'Bearer ' .. token end
end

function request()
  nextToken = nextToken % #tokens + 1
  return wrk.format('POST', nil, { Authorization = tokens[nextToken] })
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"refused":%d,"broken":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)
  ))
end
