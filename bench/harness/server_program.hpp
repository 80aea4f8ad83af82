// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace bench
{

/** A server program of the bench's own, held to the server's core, with a directory of its own. Both are gone with this
 * object. */
class ServerProgram
{
public:
    /** Where the directory is: among the machine's temporary files, or in its memory, if it has a place there. */
    enum class Place { disk, memory };

    explicit ServerProgram(Place place);
    ServerProgram(ServerProgram const&) = delete;
    ServerProgram& operator=(ServerProgram const&) = delete;
    ~ServerProgram();

    [[nodiscard]] std::filesystem::path const& directory() const noexcept { return directory_; }

    /** Starts it, and returns when it answers; once. Its output goes to the file `log` of its directory.
     *  @throws std::runtime_error if it ends, or does not answer within 30 s */
    void start(std::vector<std::string> const& arguments, std::function<bool()> const& answers);

private:
    [[noreturn]] void become(std::vector<std::string> const& arguments) const;

    std::filesystem::path directory_;
    pid_t pid_ = -1;
};

} // namespace bench
