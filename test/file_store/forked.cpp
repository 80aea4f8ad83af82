// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "forked.hpp"

#include "store/file/backend.hpp"

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test
{

std::unique_ptr<conformance::Client> client_of(std::string const& directory)
{
    return std::make_unique<conformance::Client>(
        [&](std::shared_ptr<Runtime> runtime) { return file::make_backend(std::move(runtime), {directory}); });
}

void leave_litter(std::string const& directory)
{
    Forked dead(directory, [](conformance::Client& client) -> std::int64_t {
        static_cast<void>(client.ready());
        ::raise(SIGKILL);
        return 0;
    });
    static_cast<void>(dead.result());
    timespec const times[2]{{1000, 0}, {1000, 0}};
    for (auto const& entry : std::filesystem::recursive_directory_iterator(directory))
        if (entry.path().parent_path().filename() == "ranges")
            ::utimensat(AT_FDCWD, entry.path().c_str(), times, 0);
}

Forked::Forked(std::string const& directory, Work const& work)
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::runtime_error("pipe2");
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error("fork");
    if (pid_ != 0) {
        ::close(ends[1]);
        pipe_ = ends[0];
        return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::int64_t result = -1;
    try {
        auto const client = client_of(directory);
        result = work(*client);
    } catch (std::exception const& error) {
        std::cerr << "forked process: " << error.what() << '\n';
    }
    static_cast<void>(::write(ends[1], &result, sizeof(result)) == sizeof(result));
    ::_exit(0);
}

Forked::~Forked()
{
    kill();
    if (!over_)
        ::waitpid(pid_, nullptr, 0);
    ::close(pipe_);
}

void Forked::kill() const
{
    if (!over_)
        ::kill(pid_, SIGKILL);
}

void Forked::resume() const
{
    ::kill(pid_, SIGCONT);
}

bool Forked::stops()
{
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    over_ = !WIFSTOPPED(status);
    return !over_;
}

std::optional<std::int64_t> Forked::result()
{
    if (!over_) {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        over_ = true;
    }
    std::int64_t result = 0;
    if (::read(pipe_, &result, sizeof(result)) != sizeof(result))
        return std::nullopt;
    return result;
}

} // namespace tenure::test
