// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "raw/client.hpp"
#include "raw/scripts.hpp"
#include "raw/workloads.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::raw
{

namespace
{

constexpr std::string_view owner = "bench-host:12345/0123456789abcdef0123456789abcdef";

/** Both halves of a pair of all keys, ready to be sent. */
struct Keys {
    std::string acquire;
    std::string release;
    /// replies to the release, and what each of them says
    unsigned releases = 0;
    std::string released;
};

Keys make_keys(Client& client, unsigned count, Together together)
{
    Keys keys;
    std::vector<std::string> names;
    for (unsigned number = 0; number < count; ++number) {
        names.push_back("bench:lock:" + std::to_string(number));
        keys.acquire += encode({"SET", names.back(), owner, "NX", "PX", "10000"});
    }
    if (together == Together::write) {
        auto const script = client.load(compare_and_delete);
        for (auto const& name : names)
            keys.release += encode({"EVALSHA", script, "1", name, owner});
        keys.releases = count;
        keys.released = "1";
    } else {
        encode_count(keys.release, 3 + count + 1);
        for (auto const& word : {std::string("EVALSHA"), client.load(compare_and_delete_all), std::to_string(count)})
            encode_word(keys.release, word);
        for (auto const& name : names)
            encode_word(keys.release, name);
        encode_word(keys.release, owner);
        keys.releases = 1;
        keys.released = std::to_string(count);
    }
    return keys;
}

void expect(Client& client, unsigned replies, std::string_view text)
{
    for (; replies > 0; --replies) {
        auto const reply = client.reply();
        check(reply);
        if (reply.text != text)
            throw std::runtime_error("the raw client lost a lock");
    }
}

} // namespace

Measurement multi_latency(std::uint16_t port, unsigned count, unsigned pairs, Together together)
{
    Client client(port);
    auto const keys = make_keys(client, count, together);
    std::vector<double> times;
    auto const warm_up = pairs / 10;
    for (unsigned pair = 0; pair < warm_up + pairs; ++pair) {
        auto const begin = Steady::now();
        client.send(keys.acquire);
        expect(client, count, "OK");
        client.send(keys.release);
        expect(client, keys.releases, keys.released);
        if (pair >= warm_up)
            times.push_back(microseconds_since(begin));
    }
    return {median(times)};
}

} // namespace bench::raw
