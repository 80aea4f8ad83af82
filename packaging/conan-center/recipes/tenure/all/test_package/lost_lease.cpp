// A lease is lost in virtual time.
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <chrono>
#include <utility>

int main()
{
    using namespace std::chrono_literals;
    tenure::testing::VirtualTime time;
    tenure::testing::SimulatedStore store{time};
    tenure::Lock const lock{store.open("tester"), {.key = "job", .ttl = 3s}};
    tenure::Lease lease;
    lock.async_acquire([&lease](tenure::error_code, tenure::Lease granted) { lease = std::move(granted); });
    time.run_ready();
    bool const held = lease.valid();
    store.set_reachable(false);
    time.run_for(3s);
    return held && lease.token().cancelled() ? 0 : 1;
}
