// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "raw/client.hpp"
#include "raw/scripts.hpp"
#include "raw/workloads.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

constexpr std::string_view owner = "bench-host:12345/0123456789abcdef0123456789abcdef";

std::string key(unsigned number)
{
    return "thread_id_lock:" + std::to_string(number);
}

/** The chunks of the range, and within the first that is not full the way given. */
std::string chunked(unsigned chunk, std::string_view within)
{
    auto const size = std::to_string(chunk);
    return "local n = #KEYS\n"
           "for first = 1, n, " +
           size +
           " do\n"
           "  local last = first + " +
           std::to_string(chunk - 1) +
           "\n"
           "  if last > n then last = n end\n"
           "  if redis.call('EXISTS', unpack(KEYS, first, last)) <= last - first then\n" +
           std::string(within) +
           "  end\n"
           "end\n"
           "return -1";
}

constexpr std::string_view each = R"(
    for i = first, last do
      if redis.call('EXISTS', KEYS[i]) == 0 then
        redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
        return i
      end
    end
)";

constexpr std::string_view by_mget = R"(
    local held = redis.call('MGET', unpack(KEYS, first, last))
    for i = 1, #held do
      if not held[i] then
        redis.call('SET', KEYS[first + i - 1], ARGV[1], 'PX', ARGV[2])
        return first + i - 1
      end
    end
)";

constexpr std::string_view by_halves = R"(
    while first < last do
      local middle = math.floor((first + last) / 2)
      if redis.call('EXISTS', unpack(KEYS, first, middle)) <= middle - first then
        last = middle
      else
        first = middle + 1
      end
    end
    redis.call('SET', KEYS[first], ARGV[1], 'PX', ARGV[2])
    return first
)";

std::string script(Scan scan)
{
    switch (scan) {
    case Scan::exists_64_then_each:
        return chunked(64, each);
    case Scan::exists_64_then_mget:
        return chunked(64, by_mget);
    case Scan::exists_64_then_halves:
        return chunked(64, by_halves);
    case Scan::exists_128_then_halves:
        return chunked(128, by_halves);
    }
    throw std::invalid_argument("scan");
}

/** The time of each `take`, which gets the last key; giving it back is not measured. */
Measurement measure(Client& client, unsigned keys, unsigned times, std::function<void()> const& take)
{
    auto const release = encode({"EVALSHA", client.load(compare_and_delete), "1", key(keys - 1), owner});
    std::vector<double> all;
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        take();
        if (time >= warm_up)
            all.push_back(microseconds_since(begin));
        client.send(release);
        if (client.reply().text != "1")
            throw std::runtime_error("the raw client did not get the last key");
    }
    return {median(std::move(all))};
}

} // namespace

void hold_all_but_last(std::uint16_t port, unsigned keys)
{
    Client client(port);
    for (unsigned number = 0; number + 1 < keys; ++number)
        client.ask({"SET", key(number), "somebody else", "PX", "600000"});
}

Measurement first_free(std::uint16_t port, Scan scan, unsigned keys, unsigned times)
{
    Client client(port);
    std::string command;
    encode_count(command, 3 + keys + 2);
    encode_word(command, "EVALSHA");
    encode_word(command, client.load(script(scan)));
    encode_word(command, std::to_string(keys));
    for (unsigned number = 0; number < keys; ++number)
        encode_word(command, key(number));
    encode_word(command, owner);
    encode_word(command, "10000");
    auto const expected = std::to_string(keys);
    return measure(client, keys, times, [&] {
        client.send(command);
        auto const reply = client.reply();
        check(reply);
        if (reply.text != expected)
            throw std::runtime_error("the raw scan found " + std::string(reply.text));
    });
}

Measurement one_after_another(std::uint16_t port, unsigned keys, unsigned times)
{
    Client client(port);
    std::vector<std::string> commands;
    for (unsigned number = 0; number < keys; ++number)
        commands.push_back(encode({"SET", key(number), owner, "NX", "PX", "10000"}));
    return measure(client, keys, times, [&] {
        for (auto const& command : commands) {
            client.send(command);
            auto const reply = client.reply();
            check(reply);
            if (!reply.null)
                return;
        }
        throw std::runtime_error("no key was free");
    });
}

} // namespace bench::raw
