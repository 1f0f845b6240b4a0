complete -c everthread -a '(everthread completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
