// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/server_program.hpp"

#include "harness/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace bench
{

namespace
{

std::filesystem::path parent(ServerProgram::Place place)
{
    std::error_code ignored;
    std::filesystem::path const memory = "/dev/shm";
    // TMPDIR is the user's choice and has precedence
    if (place == ServerProgram::Place::memory && std::getenv("TMPDIR") == nullptr &&
        std::filesystem::is_directory(memory, ignored))
        return memory;
    return std::filesystem::temp_directory_path();
}

std::string text_of(std::filesystem::path const& path)
{
    std::ifstream const file{path};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

ServerProgram::ServerProgram(Place place)
{
    auto pattern = (parent(place) / "tenure-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "mkdtemp");
    directory_ = pattern;
}

ServerProgram::~ServerProgram()
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

void ServerProgram::start(std::vector<std::string> const& arguments, std::function<bool()> const& answers)
{
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0)
        become(arguments);
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (; std::chrono::steady_clock::now() < limit; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
        if (answers())
            return;
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            break;
        }
    }
    throw std::runtime_error(arguments.front() + " does not start:\n" + text_of(directory_ / "log"));
}

void ServerProgram::become(std::vector<std::string> const& arguments) const
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(bench::Place::same);
    auto const log = directory_ / "log";
    int const output = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (output < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0)
        ::_exit(126);
    std::vector<char*> words;
    for (auto const& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    ::_exit(127);
}

} // namespace bench
