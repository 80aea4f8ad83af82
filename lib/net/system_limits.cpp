// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Limits of the process and the machine, in words.
#include "system_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tenure::net
{

std::string explain_system_error(boost::system::error_code error)
{
    namespace errc = boost::system::errc;
    if (error == errc::too_many_files_open)
        return "this process has no file descriptor left (" + error.message() +
               "): raise its limit (ulimit -n, LimitNOFILE=), or open fewer stores";
    if (error == errc::too_many_files_open_in_system)
        return "this machine has no file descriptor left (" + error.message() + "): raise fs.file-max";
    return error.message();
}

boost::system::error_code lack_of_descriptors() noexcept
{
    int const descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)::close(descriptor);
        return {};
    }
    if (errno == EMFILE || errno == ENFILE)
        return {errno, boost::system::system_category()};
    return {};
}

} // namespace tenure::net
