// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "raw/client.hpp"
#include "raw/scripts.hpp"
#include "raw/workloads.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench::raw
{

Measurement renewals(std::uint16_t port, unsigned leases, unsigned ttl_ms, double seconds)
{
    constexpr std::string_view owner = "bench-host:12345/0123456789abcdef0123456789abcdef";
    constexpr unsigned batch = 100;
    Client client(port);
    auto const digest = client.load(compare_and_expire_all);
    auto const ttl = std::to_string(ttl_ms);

    std::string output;
    unsigned scripts = 0;
    for (unsigned first = 0; first < leases; first += batch, ++scripts) {
        auto const last = std::min(first + batch, leases);
        encode_count(output, 3 + (last - first) + 2);
        encode_word(output, "EVALSHA");
        encode_word(output, digest);
        encode_word(output, std::to_string(last - first));
        for (auto number = first; number < last; ++number)
            encode_word(output, "bench:lease:" + std::to_string(number));
        encode_word(output, owner);
        encode_word(output, ttl);
    }
    for (unsigned number = 0; number < leases; ++number)
        client.ask({"SET", "bench:lease:" + std::to_string(number), owner, "NX", "PX", ttl});

    auto const begin = Steady::now();
    auto const cpu = cpu_seconds();
    auto next = begin;
    while (seconds_since(begin) < seconds) {
        next += std::chrono::milliseconds(ttl_ms / 3);
        std::this_thread::sleep_until(next);
        client.send(output);
        long renewed = 0;
        for (unsigned script = 0; script < scripts; ++script) {
            auto const reply = client.reply();
            check(reply);
            renewed += std::stol(std::string(reply.text));
        }
        if (renewed != static_cast<long>(leases))
            throw std::runtime_error("the raw client lost a lease");
    }
    return {(cpu_seconds() - cpu) * 100 / seconds_since(begin)};
}

} // namespace bench::raw
