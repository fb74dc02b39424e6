-- For wrk: sends POST requests, each with the next Authorization header of a file, counts the
-- answers by their code, and ends with a line of JSON.
-- Usage: wrk --threads 1 … -s bench/wrk.lua <url> -- <file, a header on each line> <first> [sold]
-- sold: a text in the body of each purchase that sold. Without it, the status alone decides.
local threads, headers, nextHeader, sold = {}, {}, 0, ''
answers = {} -- Global: done() reads it from the thread.

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  for header in io.lines(args[1]) do headers[#headers + 1] = header end
  nextHeader, sold = tonumber(args[2]), args[3] or ''
end

function request()
  local authorization = headers[nextHeader % #headers + 1]
  nextHeader = nextHeader + 1
  return wrk.format('POST', nil, { Authorization = authorization })
end

-- An answer is accepted, or it has the code of a problem. Speed alone says nothing about it, and
-- neither does a status of 200 whose body says that nothing was sold.
function response(status, _, body)
  local code = 'accepted'
  if status >= 300 then code = body:match('"code":"([%w-]+)"') or 'status-' .. status
  elseif not body:find(sold, 1, true) then code = 'not-sold' end
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
