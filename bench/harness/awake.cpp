// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/awake.hpp"

#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

namespace bench
{

Awake::Awake() noexcept
    : descriptor_(::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC))
{
    // the kernel keeps to it for as long as the file is open
    std::int32_t const microseconds = 0;
    if (granted() && ::write(descriptor_, &microseconds, sizeof microseconds) != sizeof microseconds) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
}

Awake::~Awake()
{
    if (granted())
        ::close(descriptor_);
}

} // namespace bench
