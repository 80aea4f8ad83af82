// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/immovable.hpp"
#include "harness/scratch_directory.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tenure::test
{

/** A real server on a free port, with its files in a directory of its own. Both end with the object. */
class ServerProcess : Immovable
{
public:
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] bool alive() const noexcept { return process_.has_value(); }

    /** SIGSTOP: it answers nothing, connections stay open. Returns when it is paused. */
    void pause() { process_->pause(); }
    void resume() { process_->resume(); }
    /** SIGKILL. */
    void kill()
    {
        process_->kill();
        process_.reset();
    }

protected:
    explicit ServerProcess(ScratchDirectory::Place place = ScratchDirectory::Place::disk)
        : directory_(place)
    {
    }
    ~ServerProcess() = default;

    /// outlives the process
    ScratchDirectory directory_;
    std::uint16_t port_ = 0;
    /// unset while killed
    std::optional<ChildProcess> process_;
};

} // namespace tenure::test
