// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <atomic>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

namespace own_store
{

/** A request that brought no result. */
struct Failed : std::exception {
    explicit Failed(tenure::backend::Failure why)
        : failure(std::move(why))
    {
    }
    tenure::backend::Failure failure;
};

/** The error of a system call by `errno`. Only the caller knows whether the key's file may have changed. */
[[nodiscard]] Failed
failed(tenure::backend::Failure::Effect effect, std::string const& what, std::filesystem::path const& path);

/** The one lock of a directory, while this object lives. The kernel frees it if the process is killed. */
class DirectoryLock
{
public:
    static constexpr char const* file_name = ".lock";

    /** Waits for a short time only, because a renewal that stands behind this request has to be answered as well.
     *  @param closed  ends the wait at once
     *  @throws Failed with nothing sent */
    DirectoryLock(
        std::filesystem::path const& directory, tenure::backend::Deadline const& not_after,
        std::atomic<bool> const& closed);
    DirectoryLock(DirectoryLock const&) = delete;
    DirectoryLock& operator=(DirectoryLock const&) = delete;
    ~DirectoryLock();

private:
    int descriptor_;
};

} // namespace own_store
