// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tenure::tool
{

void Descriptor::close() noexcept
{
    if (number_ >= 0)
        ::close(number_);
    number_ = -1;
}

PipePair make_pipe()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

} // namespace tenure::tool
