// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/etcd_process.hpp"

#include "harness/child.hpp"
#include "harness/free_port.hpp"

#include "raw/etcd.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace bench
{

EtcdProcess::EtcdProcess()
{
    auto pattern = (std::filesystem::temp_directory_path() / "tenure-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "mkdtemp");
    directory_ = pattern;
    port_ = free_port();
    auto const clients = "http://127.0.0.1:" + std::to_string(port_);
    auto const peers = "http://127.0.0.1:" + std::to_string(free_port());
    auto const data = (directory_ / "data").string();
    auto const log = (directory_ / "log").string();
    auto const members = "default=" + peers;
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(Place::same);
        int const output = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
        ::dup2(output, STDOUT_FILENO);
        ::dup2(output, STDERR_FILENO);
        ::execlp(
            "etcd", "etcd", "--data-dir", data.c_str(), "--listen-client-urls", clients.c_str(),
            "--advertise-client-urls", clients.c_str(), "--listen-peer-urls", peers.c_str(),
            "--initial-advertise-peer-urls", peers.c_str(), "--initial-cluster", members.c_str(), nullptr);
        ::_exit(127);
    }
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (; std::chrono::steady_clock::now() < limit; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        if (raw::etcd_answers(port_))
            return;
    stop();
    throw std::runtime_error("etcd does not start");
}

bool EtcdProcess::installed()
{
    return std::system("command -v etcd > /dev/null") == 0;
}

EtcdProcess::~EtcdProcess()
{
    stop();
}

std::string EtcdProcess::url() const
{
    return "etcd://127.0.0.1:" + std::to_string(port_);
}

void EtcdProcess::stop() noexcept
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

} // namespace bench
