-- For wrk: sends POST requests, each with the next token of a file, counts the answers by their
-- code, and ends with a line of JSON.
-- Usage: wrk --threads 1 … -s bench/wrk.lua <url> -- <file with one token on each line> <first>
local threads, tokens, nextToken = {}, {}, 0
answers = {} -- Global: done() reads it from the thread.

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  for token in io.lines(args[1]) do tokens[#tokens + 1] = 'Bearer ' .. token end
  nextToken = tonumber(args[2])
end

function request()
  local authorization = tokens[nextToken % #tokens + 1]
  nextToken = nextToken + 1
  return wrk.format('POST', nil, { Authorization = authorization })
end

-- An answer is accepted, or it has the code of a problem. Speed alone says nothing about it.
function response(status, headers, body)
  local code = 'accepted'
  if status >= 300 then code = body:match('"code":"([%w-]+)"') or 'status-' .. status end
  answers[code] = (answers[code] or 0) + 1
end

function done(summary, latency)
  local errors, counts = summary.errors, {}
  for code, count in pairs(threads[1]:get('answers')) do
    counts[#counts + 1] = string.format('"%s":%d', code, count)
  end
  io.write(string.format(
    '{"microseconds":%d,"answers":{%s},"broken":%d,"p50":%d,"p99":%d}\n',
    summary.duration, table.concat(counts, ','),
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)
  ))
end
