-- For wrk: floods one path, counts the answers by their status, and ends with a line of JSON.
-- Usage: wrk --threads 1 … -s bench/flood.lua <url> -- <method> <path>
-- A %d in the path is a number that grows with each request. The token is signed by nobody.
local threads, method, path, count = {}, 'GET', '/', 0
answers = {} -- Global: done() reads it from the thread.

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  method, path = args[1], args[2]
end

function request()
  count = count + 1
  local headers = { Authorization = 'Bearer e30.e30.' .. string.rep('A', 43) }
  return wrk.format(method, string.format(path, 1000000 + count), headers)
end

function response(status)
  answers[status] = (answers[status] or 0) + 1
end

function done(summary)
  local counts = {}
  for status, times in pairs(threads[1]:get('answers')) do
    counts[#counts + 1] = string.format('"%d":%d', status, times)
  end
  io.write(string.format(
    '{"microseconds":%d,"answers":{%s}}\n', summary.duration, table.concat(counts, ',')
  ))
end
