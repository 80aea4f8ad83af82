// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/control.hpp"
#include "raw/etcd.hpp"
#include "raw/etcd_wire.hpp"

#include <stdexcept>
#include <string_view>

namespace bench::raw
{

namespace
{

constexpr std::string_view lock = "raw:handover";

void release(EtcdWire& wire, EtcdPair const& pair)
{
    if (!etcd_succeeded(wire.ask(pair.release)))
        throw std::runtime_error("the raw client lost the lock");
}

} // namespace

void etcd_hold(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    EtcdWire wire(port);
    EtcdPair const pair(lock, etcd_lease(wire));
    for (auto word = control.hear(); word != Word::quit; word = control.hear()) {
        if (word == Word::acquire) {
            if (!etcd_succeeded(wire.ask(pair.claim)))
                throw std::runtime_error("the lock is not free");
        } else {
            auto const begin = instant_now();
            release(wire, pair);
            control.notify(begin);
        }
        control.say(Word::done);
    }
}

void etcd_wait(std::uint16_t port, int descriptor)
{
    constexpr std::string_view deleted = R"("type":"DELETE")";
    Control const control(descriptor);
    EtcdWire wire(port);
    EtcdWire watch(port);
    EtcdPair const pair(lock, etcd_lease(wire));
    watch.send(etcd_request("watch", R"({"create_request":{"key":")" + pair.key + R"(","filters":["NOPUT"]}})"));
    watch.skip_past(R"("created":true)");
    while (control.hear() == Word::wait) {
        control.say(Word::done);
        while (!etcd_succeeded(wire.ask(pair.claim)))
            watch.skip_past(deleted);
        auto const end = instant_now();
        release(wire, pair);
        // its own release, which the next round must not take for the holder's
        watch.skip_past(deleted);
        control.notify(end);
        control.say(Word::done);
    }
}

} // namespace bench::raw
