// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace bench
{

/** While it lives, idle cores poll instead of going to sleep. A sleeping core takes long to wake, on a virtual machine
 * longer than many a request takes, and whether it has fallen asleep by the next one is a matter of luck: that is the
 * machine's share of a round trip, not that of what is measured.
 *
 * Source: https://docs.kernel.org/power/pm_qos_interface.html (cpu_dma_latency). */
class Awake
{
public:
    Awake() noexcept;
    Awake(Awake const&) = delete;
    Awake& operator=(Awake const&) = delete;
    ~Awake();

    /** False where the kernel does not let this process: only root may. */
    [[nodiscard]] bool granted() const noexcept { return descriptor_ >= 0; }

private:
    int descriptor_;
};

} // namespace bench
