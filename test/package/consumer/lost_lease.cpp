// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A test of a user's own: the token fires when the store goes away, in virtual time.
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

int main()
{
    using namespace std::chrono_literals;
    tenure::testing::VirtualTime time;
    tenure::testing::SimulatedStore store{time};
    tenure::Lock const lock{store.open("tester"), {"job", 3s, {}}};
    tenure::Lease lease;
    lock.async_acquire([&](tenure::error_code, tenure::Lease granted) { lease = std::move(granted); });
    time.run_ready();
    bool const held = lease.valid();
    store.set_reachable(false);
    time.run_for(3s);
    std::puts(held && lease.token().cancelled() ? "lost in virtual time" : "wrong");
    return held && lease.token().cancelled() ? 0 : 1;
}
