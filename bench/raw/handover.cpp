// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/control.hpp"
#include "raw/client.hpp"
#include "raw/scripts.hpp"
#include "raw/workloads.hpp"

#include <stdexcept>
#include <string>

namespace bench::raw
{

namespace
{

constexpr std::string_view lock = "bench:handover";
constexpr std::string_view channel = "bench:handover:free";
constexpr std::string_view holder = "bench-host:12345/0123456789abcdef0123456789abcdef";
constexpr std::string_view waiter = "bench-host:54321/fedcba9876543210fedcba9876543210";

std::string acquire(std::string_view owner)
{
    return encode({"SET", lock, owner, "NX", "PX", "10000"});
}

void release(Client& client, std::string const& digest, std::string_view owner)
{
    if (client.ask({"EVALSHA", digest, "1", lock, owner, channel}).text != "1")
        throw std::runtime_error("the raw client lost the lock");
}

} // namespace

void hold(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    Client client(port);
    auto const digest = client.load(compare_delete_and_publish);
    auto const take = acquire(holder);
    for (auto word = control.hear(); word != Word::quit; word = control.hear()) {
        if (word == Word::acquire) {
            client.send(take);
            if (client.reply().text != "OK")
                throw std::runtime_error("the lock is not free");
        } else {
            auto const begin = instant_now();
            release(client, digest, holder);
            control.notify(begin);
        }
        control.say(Word::done);
    }
}

void wait(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    Client client(port);
    Client subscriber(port);
    // without a notification: the next round starts with an explicit acquisition
    auto const digest = client.load(compare_and_delete);
    auto const take = acquire(waiter);
    subscriber.ask({"SUBSCRIBE", channel});
    while (control.hear() == Word::wait) {
        control.say(Word::done);
        client.send(take);
        for (auto reply = client.reply(); reply.text != "OK"; reply = client.reply()) {
            check(reply);
            check(subscriber.reply());
            client.send(take);
        }
        auto const end = instant_now();
        release(client, digest, waiter);
        control.notify(end);
        control.say(Word::done);
    }
}

} // namespace bench::raw
